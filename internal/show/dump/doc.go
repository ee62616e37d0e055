// SPDX-License-Identifier: Apache-2.0

// Package dump samples all threads of a process once, or reads a core, and examines locks by further samples.
//
// # Algorithm
//
// [Sample] observes each thread (package observe), or all at one moment ([Options].Atomic). A thread with a cut stack
// is sampled again with a longer copy (copyextender.go). A sample goes through these folders:
//
//	Sample, Core    walk       the stack of a thread, with names
//	                sleepers   what it waits for
//	                goroutines the stacks of goroutines
//	ExamineLocks    locks      locks, owners, cycles, the verdict
//	results         stacks     the data, as JSON; text: for a reader
//
// [ExamineLocks] samples each lock's owner again together with the lock's memory, while stopped or between two equal
// run counts: so it held the lock at the displayed stack. A runtime's lock is read just after the owner's sample
// instead: an owner that ran in between may have released it and taken it again. A cycle is a deadlock only if two
// further samples agree: each member sleeps in the same call, the lock has the same owner, the run count is unchanged.
//
// # Invariants
//
// Threads are resumed in any case, except after [ErrHung].
package dump
