// SPDX-License-Identifier: Apache-2.0

// Package skid deals with interrupt skid: a thread that is interrupted stops a little later than it was meant to.
//
// An interrupt takes some microseconds to reach another processor. The thread has been told by then that something is
// to be done, and sees that at the end of any system call (kernel/entry/common.c, exit_to_user_mode_loop). If it
// comes to one first, it stops there. What a thread computes between two system calls for a time shorter than that is
// hardly ever seen, and the calls get its share. An example: redis at work on another processor than the tracer's
// seemed to spend 38 % of its time in read, where 6 % is right.
//
// The tracer's own processor has no skid. Its timer's interrupt is served there and then, and the thread that the
// tracer preempts stays where it was. Four parts follow from that:
//
//   - [Calls]: does a thread make many system calls? Then only looks at it that were exact say where its time goes.
//     Those are looks at a thread that the tracer preempted, or that is off its processor. The time of others is
//     carried to the next exact look.
//   - [Tracer]: which thread did the tracer's wake-up preempt? It tells where that one was only if the tracer's own
//     timer woke it ([Wake]). A move to another processor, or the end of a stop, interrupts from afar.
//   - [CPUChooser]: on which processor does the tracer sleep, so that it preempts such a thread?
//   - [Decide]: the first looks at a thread wait until it is known whether it makes many system calls.
package skid
