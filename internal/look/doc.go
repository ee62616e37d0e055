// SPDX-License-Identifier: Apache-2.0

// Package look gets one true stack of one thread, in the cheapest way that can be
// proved right.
//
// # The ladder
//
// Reuse: the thread's count of arrivals on a processor is the same as at the last look, and that look was made while
// the thread was off the processor. The count is the third field of /proc/PID/task/TID/schedstat. It has not run
// since, so its stack is the same.
//
// Peek: the thread sleeps. Then /proc/PID/task/TID/syscall gives its stack pointer and program counter, and
// /proc/PID/mem its stack. The same count before and after proves that it did not run meanwhile: a sequence lock
// whose writer is the scheduler. The thread feels nothing.
//
// Freeze: the thread runs, is queued for a processor, or is stopped by job control. It is seized, interrupted, and
// let go when its registers, its stack and its clocks are copied (package ptrace). Threads that sleep are not frozen:
// it would stretch the time-outs of the calls that they sleep in. There is one exception. A stack can need a register
// that a peek does not see, and that neither an earlier freeze nor the stack itself gives with a proof. Such a
// sleeper is frozen once in its sleep, in calls that a stop does not harm.
//
// # Looks over time
//
// A thread that is queued stops only when it is scheduled. [Looker.Begin] makes
// every look that needs no stop at once, and leaves the others pending;
// [Looker.Collect] finishes them as the threads stop. Both run on the tracer's
// thread and allocate nothing. What they copy goes into a [Shot], which another
// goroutine unwinds.
package look
