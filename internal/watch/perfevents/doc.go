// SPDX-License-Identifier: Apache-2.0

// Package perfevents samples running threads without stops: the kernel copies registers, the top of the user stack and
// kernel frames at a fixed rate on each CPU (perf_event_open(2), a software clock).
//
// # Algorithm
//
// One event per CPU samples all threads from their first instruction on, with CAP_PERFMON or kernel.perf_event_paranoid
// ≤ 0. Without that right, perthread.go samples a user's own threads one by one, command.go a launched command and all
// that it creates. try.go finds whether the kernel gives samples at all.
//
//	CPU 0: event ──► ring ─┐    one record (struct perf_event_header, then the body; multiples of 8 bytes)
//	CPU 1: event ──► ring ─┼─► Reader.Drain ─► Record
//	CPU n: event ──► ring ─┘    sample: pid tid time cpu │ kernel frames │ user registers │ stack bytes
//
// After a malformed record the rest of its ring is dropped, and counts as one lost record.
//
// Sources: perf_event_open(2); include/uapi/linux/perf_event.h; kernel/events/core.c.
package perfevents
