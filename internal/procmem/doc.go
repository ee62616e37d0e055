// SPDX-License-Identifier: Apache-2.0

// Package procmem reads other processes' memory and small files under /proc.
//
// # Algorithm
//
// [Memory] reads a process's memory without waiting for pages; [ReadVM] waits for them.
//
// [ThreadFiles] keeps a thread's files open, within a [Budget], and reads them by pread at offset 0, at a fifth of the
// cost of opening. A kept descriptor belongs to its thread: after the thread's end reads return [refusal.Gone], even if
// the id is reused.
//
// # Calls by other threads
//
// A tracer with real-time priority, or with a stopped thread, must not make two kinds of calls:
//
//	                        ┌─ Relays (relay.go): reads of memory while a thread is stopped. Priority: above the
//	                        │    tracer's, which waits 1 ms at most
//	tracer ── ask, await ───┤
//	                        └─ PathOpener.paths (pathopener.go): opens one path of /proc/PID. Priority: not
//	                             real-time, nice −10
//	tracer ── Start, Done ──── PathOpener.todo: a goroutine with its own thread, for a function that opens many
//
// Relays and PathOpener.paths are threads unknown to the Go runtime (relay_unsafe.go).
//
// # Other raw calls
//
// Few packages may use unsafe (internal/layers): clocks and sleep (clock_unsafe.go), and for package perfevents words
// of ring buffers (perfring_unsafe.go), are here.
//
// Nothing allocates once the descriptors are open.
//
// Sources: proc(5); fs/proc/array.c, fs/proc/base.c.
package procmem
