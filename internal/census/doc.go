// Package census reads the scheduler's counts of all threads of a process in one
// system call, where the kernel and the user's rights allow it.
//
// # Algorithm
//
// A small BPF program (Linux 6.7 or later; CAP_BPF and CAP_PERFMON) goes through the threads of a process with the
// kernel's own iterator (kernel/bpf/task_iter.c, bpf_iter_task_new and its kin, with BPF_TASK_ITER_PROC_THREADS).
// It writes each one's number and the three counts of schedstat into memory that it shares with this process. On
// x86-64 it writes where each one sleeps, too: its state, system call and registers. These are read once in a sleep.
// It is run by bpf(2), BPF_PROG_RUN, and only then: nothing is attached to anything, and nobody else's work gets
// slower. It is assembled here for the running kernel, whose type information (BTF) says where in task_struct the
// fields are.
//
// A second program reads a few words of the stacks of those that have woken up since: they tell whether such a thread
// sleeps again where it slept. It does so for many threads in one system call ([Stacks]).
//
// The older way, a BPF iterator that is read like a file (kernel/bpf/task_iter.c,
// Linux 5.8), took ten times as long a thread, and does not pay.
package census
