// SPDX-License-Identifier: Apache-2.0

// Package ptrace looks at running threads of other processes. It stops one for tens of microseconds, takes its
// registers, a copy of its stack and its clocks, and lets it go.
//
//	err := ptrace.Run(ptrace.Options{}, func(c *ptrace.Controller) error {
//		if _, err := c.Begin(tid); err != nil {
//			return err
//		}
//		return c.Finish(c.WaitAny(deadline), &request, &stop)
//	})
//
// # Algorithm
//
// A look has three parts, so that many can be under way at once. [Controller.Begin]
// attaches with PTRACE_SEIZE, which neither stops nor signals, and asks for a stop
// with PTRACE_INTERRUPT. [Controller.WaitAny] gives the looks whose threads have
// stopped, as they come: a thread queued for a processor stops only when it gets
// one. [Controller.Finish] does what must be done while the thread is stopped
// (PTRACE_GETREGSET, one process_vm_readv, one pread of schedstat), detaches, and
// only then turns what it read into its final form. Nothing stays attached
// between looks: a tracee takes a trip through its tracer for each signal.
//
// The target must not notice (ptrace(2), kernel/signal.c, kernel/ptrace.c):
//
//   - A stop may be that of a signal that came first; detaching with its number
//     hands it on, siginfo unchanged, and clears the interrupt that is pending.
//   - A thread stopped by SIGSTOP shows a group stop; detaching leaves it stopped.
//   - A few system calls give EINTR after any stop. Where the stop shows that, the
//     result is rewritten so that the kernel restarts the call, see [Restartable].
//   - Stops are seen with WNOWAIT and never consumed, so that a signal in flight is delivered even if this process
//     is killed during the look. The exit of a child of this process is left for whoever waits for it.
//
// A seizure can wait for a thread that calls exec, which waits for this tracer:
// another OS thread sees to it then (rescue.go).
//
// From the stop to the detach no Go code runs that can be pre-empted: these functions are nosplit, and the compiler
// marks no safe point in such. Their system calls are raw, so that the processor is not given up. They do not
// allocate. The garbage collector waits for them, not they for it.
//
// All methods of a [Controller] must be called on the OS thread that made it,
// because the kernel binds tracing to a thread; [Run] sees to that.
package ptrace
