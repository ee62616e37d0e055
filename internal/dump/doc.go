// SPDX-License-Identifier: Apache-2.0

// Package dump takes all stacks of a process once, or reads them from a core, and writes them as text and JSON.
//
// # Algorithm
//
// Each thread is observed once (package observe), or all at one moment ([Options].Atomic). Stacks are walked
// (callstack) and named (symbols); sleeping threads get what they wait for (waits). Threads with incomplete stacks are
// sampled again with more data, a bounded number of times. [ExamineLocks] also samples locks' owners, and finds
// deadlocks and starved pools.
//
// # Invariants
//
// Threads are resumed in any case, except after [ErrHung]. A deadlock is reported only if its members do not run
// between samples.
package dump
