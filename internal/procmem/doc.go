// SPDX-License-Identifier: Apache-2.0

// Package procmem reads other processes' memory and small files under /proc.
//
// # Algorithm
//
// [Memory] reads a process's memory without a stop and without waiting for pages: anonymous memory by
// /proc/PID/mem, file pages by process_vm_readv (Linux 3.2). [ReadVM] reads all mapped memory, and waits for
// pages.
//
// [ThreadFiles] keeps a thread's files open and reads them by pread at offset 0, at a fifth of the cost of
// opening. All readers share a [Budget] of descriptors. A kept descriptor belongs to its thread: after the
// thread's end reads return [refusal.Gone], even if the id is reused.
//
// # Calls by other threads
//
// A tracer with real-time priority, or with a stopped thread, must not make two kinds of calls:
//
//	                        ┌─ Relays (relay.go): reads of memory while a thread is stopped. They wait for the lock
//	                        │    of its mappings; the tracer waits 1 ms at most. Priority: above the tracer's
//	tracer ── ask, await ───┤
//	                        └─ PathOpener.paths (pathopener.go): opens one path of /proc/PID. The lookup may repeat
//	                             as long as another thread has no processor. Priority: not real-time, nice −10
//	tracer ── Start, Done ──── PathOpener.todo: a goroutine with its own thread, for a function that opens many
//
// Relays and PathOpener.paths are threads unknown to the Go runtime (relay_unsafe.go).
//
// # Other raw calls
//
// Few packages may use unsafe (internal/layers), so raw calls of others are here: clocks and sleep (clock_unsafe.go),
// words of perf ring buffers and periods of perf events (perfring_unsafe.go), for package perfevents.
//
// Parsers are pure functions. Nothing allocates once the descriptors are open.
//
// Sources: proc(5); fs/proc/array.c, fs/proc/base.c.
package procmem
