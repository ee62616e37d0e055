// SPDX-License-Identifier: Apache-2.0

// Package ptrace stops running threads of other processes, each for tens of microseconds, and reads their
// registers, a copy of the stack and the scheduler's clocks.
//
//	err := ptrace.Run(ptrace.Options{}, func(c *ptrace.Controller) error {
//		return c.StopThread(tid, deadline, &request, &stop)
//	})
//
// # Algorithm
//
// A stop has four steps. Stops of many threads can be interleaved, as a queued thread stops only when it gets a CPU.
// [Controller.StopThread] does all four for one thread.
//
//	begin    begin.go            PTRACE_SEIZE (no stop, no signal); clocks; PTRACE_INTERRUPT
//	poll     wait.go, reports.go waitid(WNOWAIT) for any tracee: spin for 40 µs, then sleep
//	finish   finish.go           registers (registers.go), schedstat, stack (stack.go: a process_vm_readv, or a pread of
//	                             Request.Memory), Request.OtherMemory (othermemory.go): all into one capture (capture.go)
//	repair   repair.go           rewrite the result of an interrupted system call; PTRACE_DETACH
//
// The capture is decoded after the detach, registers before it if Request.OtherMemory needs them. No thread stays
// attached between stops, because each signal stops a tracee.
//
// # Invariants
//
// The target must not notice (ptrace(2), kernel/signal.c, kernel/ptrace.c):
//
//   - A stop may be a signal-delivery-stop. Detaching with the signal's number delivers it, siginfo unchanged, and
//     clears the pending interrupt.
//   - A thread stopped by SIGSTOP shows a group stop; detaching leaves it stopped.
//   - A few system calls give EINTR after any stop. Their result is rewritten so that the kernel restarts them
//     ([Restartable]).
//   - Reports are read with WNOWAIT and not consumed: a signal in flight is delivered even if this process is killed.
//     The exit of a child of this process is left to its own wait.
//
// If the caller has called [Pin], no Go code can be pre-empted from the stop to the detach. Without it, code that
// waits, checks whether a signal is ignored, reads by another thread or reads Request.OtherMemory can be. The other
// functions are nosplit, in which the compiler marks no safe point, do not allocate, and use raw system calls, which
// keep the P. The garbage collector waits for them.
//
// PTRACE_SEIZE can block on a thread in exec that waits for this tracer: another OS thread then reaps (rescuer.go).
//
// What could delay a stop: other programs on the tracer's CPU (prevented by SCHED_FIFO or the best nice value, with a
// watchdog: watchdog.go); a thread that does not stop (a timer's signal ends the wait: alarm.go); Ctrl-Z (all threads
// are released first: jobcontrol.go); lookups below /proc/PID that spin (an ordinary thread opens paths:
// procmem.PathOpener); the lock of the target's mappings (mmaplock.go of package observe); the Go scheduler and garbage
// collection ([Pin]).
//
// # Late and lost stops
//
// A thread stops late if it is queued for a CPU or cannot be interrupted in the kernel. The kernel can also lose an
// interrupt or a report:
//
//	each 2 ms      a wait looks for lost reports and changed thread ids of all pending attachments (checkOne)
//	each 20 ms     it interrupts a thread again that has not stopped (interruptAgain)
//	after 1 s      observe.StopAll cancels the stops that are left, and reads these threads without a stop
//	after 2 s      observe.Observer.Collect cancels a stop (ErrTimeout)
//	after Cancel   the thread stays attached until a wait finds it stopped, or this OS thread ends
//
// The kernel binds tracing to an OS thread, so a [Controller] must be used on the thread that made it.
package ptrace
