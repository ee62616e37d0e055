// SPDX-License-Identifier: Apache-2.0

// Package dump takes all stacks of a process once, or reads them from a core, and examines locks by further samples.
//
// # Algorithm
//
// Each thread is observed once (package observe), or all at one moment ([Options].Atomic). Threads with incomplete
// stacks are sampled again with more data, a bounded number of times. What is done with a sample is in folders:
//
//	Sample, Core    walk       the stack of a thread, with names
//	                sleepers   what it waits for
//	                goroutines those of Go
//	ExamineLocks    locks      locks, owners, cycles, the verdict
//	results         stacks     the data, as JSON; text: for a reader
//
// The steps: [Sample] (sample.go, rawsamples.go) observes each thread, walks it (walk.Walker) and explains its sleep
// (sleepers.Explainer, by package waits); copyextender.go gives cut stacks longer copies; tasks.go adds asyncio's
// tasks.
//
// [ExamineLocks] samples each lock's owner again together with the lock's memory, while stopped or between two equal
// run counts: so it held the lock at the displayed stack. The lock of a runtime is read just after the owner's
// sample instead: an owner that ran between the two may have released it and taken it again. A changed owner is
// followed, a bounded number of times. A cycle is a deadlock only if two further samples agree: each member sleeps in
// the same call, with the same owner in the lock and an unchanged run count.
//
// # Invariants
//
// Threads are resumed in any case, except after [ErrHung]. A deadlock is reported only if its members do not run
// between samples.
package dump
