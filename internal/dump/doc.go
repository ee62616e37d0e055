// SPDX-License-Identifier: Apache-2.0

// Package dump takes all stacks of a process once, or reads them from a core, and describes them with names, as text
// and as JSON.
//
// # Algorithm
//
// Each thread is observed once (package observe), or all at one moment ([Options].Atomic); stacks are walked
// (callstack), named (symbols), and sleeping threads get what they wait for (waits). Incomplete walks are repeated with
// more data, a bounded number of times. [ExamineLocks] also samples the owners of locks, and finds deadlocks and
// starved pools.
//
// # Invariants
//
// Threads are resumed in any case, except after [ErrHung]. A deadlock is reported only if its members do not move
// between samples.
package dump
