// SPDX-License-Identifier: Apache-2.0

// Package ptrace stops running threads of other processes, each for tens of microseconds, and reads their registers, a
// copy of the stack and the scheduler's clocks.
//
//	err := ptrace.Run(ptrace.Options{}, func(c *ptrace.Controller) error {
//		return c.StopThread(tid, deadline, &request, &stop)
//	})
//
// # Algorithm
//
// A stop has four steps, which [Controller.StopThread] takes for one thread. Stops of several threads can be
// interleaved.
//
//	begin    begin.go            PTRACE_SEIZE (no stop, no signal); clocks; PTRACE_INTERRUPT
//	poll     wait.go, reports.go waitid(WNOWAIT) for any tracee: spin for 40 µs, then sleep
//	finish   finish.go           registers (capture.go), schedstat, stack (stack.go: a process_vm_readv, or a pread of
//	                             Request.Memory), Request.OtherMemory (othermemory.go): all into one capture (capture.go)
//	repair   repair.go           rewrite the result of an interrupted system call; PTRACE_DETACH
//
// The capture is decoded after the detach, registers before it if Request.OtherMemory needs them. Between stops, only
// threads whose stop was cancelled stay attached: each signal stops an attached one.
//
// # Invariants
//
// The target must not notice (ptrace(2), kernel/signal.c, kernel/ptrace.c):
//
//   - A stop may be a signal-delivery-stop. Detaching with the signal's number delivers it, siginfo unchanged, and
//     clears the pending interrupt.
//   - A thread stopped by SIGSTOP shows a group stop; detaching leaves it stopped.
//   - Some system calls give EINTR after any stop. Their result is rewritten so that the kernel restarts them
//     ([Restartable]).
//   - Reports are read with WNOWAIT and not consumed: a signal in flight is delivered even if this process is killed.
//     The exit of a child of this process is left to its own wait.
//
// After [Pin], no Go code can be pre-empted from the stop to the detach. Without it, pre-emption is possible in code
// that waits, checks whether a signal is ignored, reads by another thread or reads Request.OtherMemory. All other
// functions between are nosplit (no safe points), do not allocate, and make raw system calls, which keep the P.
//
// What can delay a stop:
//
//   - other programs on the tracer's CPU (watchdog.go)
//   - a thread that does not stop: a timer's signal ends the wait (alarm.go)
//   - PTRACE_SEIZE that waits for an exec: another OS thread reaps (begin.go, alarm.go)
//   - Ctrl-Z: all threads are released first (jobcontrol.go)
//   - lookups below /proc/PID that spin (procmem.PathOpener)
//   - the lock of the target's mappings (mmaplock.go of package observe)
//   - the Go scheduler and garbage collection ([Pin])
//
// # Late and lost stops
//
// A thread that is queued for a CPU, or cannot be interrupted in the kernel, stops late. The kernel can also lose an
// interrupt or a report:
//
//	each 2 ms      a wait looks for lost reports and changed thread ids of all pending attachments (checkOne)
//	each 20 ms     it interrupts a thread again that has not stopped (interruptAgain)
//	after 1 s      observe.StopAll cancels the stops that are left, and reads these threads without a stop
//	after 2 s      a wait of package observe cancels a stop (ErrTimeout)
//	after Cancel   the thread stays attached until a wait finds it stopped, or this OS thread ends
package ptrace
