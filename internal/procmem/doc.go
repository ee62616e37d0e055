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
// The formats are those of proc(5) and of the kernel's fs/proc/array.c and
// fs/proc/base.c. Their parsers are pure functions over bytes. Nothing here
// allocates memory once the descriptors are open.
package procmem
