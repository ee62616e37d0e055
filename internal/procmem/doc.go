// SPDX-License-Identifier: Apache-2.0

// Package procmem reads other processes: their memory, and the small files that
// the kernel shows of them under /proc.
//
// # Algorithm
//
// [Memory] reads the memory of a process without stopping its owner, or having it
// provide anything: anonymous memory by /proc/PID/mem, files' pages with
// process_vm_readv (Linux 3.2). [ReadVM] reads whatever is mapped, and waits for it.
//
// A profiler reads the same few files of the same threads at every tick. So [ThreadFiles] opens each once and reads
// it anew with pread at offset 0, which costs a fifth of opening it again. Descriptors are limited; all readers
// draw on one [Budget], and one that gets none opens, reads and closes instead. A kept descriptor stays tied to its
// thread: when the thread has ended, reads give [refusal.Gone], even if its number has been given to another thread.
//
// # Threads that make calls for the tracer's thread
//
// A tracer that has a real-time priority and may have stopped a thread must not make two kinds of calls itself. Other
// threads of this process make them:
//
//	                        ┌─ Relays (relay.go): reads of memory while a thread is stopped. They wait for the lock
//	                        │    of its mappings; the tracer waits 1 ms at most. Priority: above the tracer's
//	tracer ── ask, await ───┤
//	                        └─ Walker.paths (walker.go): opens one path of /proc/PID. The lookup may repeat as long
//	                             as another thread has no processor. Priority: not real-time, nice −10
//	tracer ── Start, Done ──── Walker.todo: the same for a function that opens many. The tracer serves stops meanwhile
//
// Relays and Walker.paths are threads of one kind (relay_unsafe.go): the Go runtime does not know them, and they make
// one system call at a time. Walker.todo is a goroutine with a thread of its own.
//
// The formats are those of proc(5) and of the kernel's fs/proc/array.c and
// fs/proc/base.c. Their parsers are pure functions over bytes. Nothing here
// allocates memory once the descriptors are open.
package procmem
