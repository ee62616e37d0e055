// SPDX-License-Identifier: Apache-2.0

package sample

// Basis is whether the stack of a sample may stand for its thread's CPU time (package pace).
type Basis uint8

// Values of [Basis].
const (
	// Exact samples may: the thread was asleep, or the interrupt was served on its own CPU.
	Exact Basis = iota
	// Undecided samples are of a thread that may make many system calls; if it does, they are as Skids.
	Undecided
	// FewCalls and ManyCalls samples decide that for the ones before.
	FewCalls
	ManyCalls
	// Skids samples may not: the thread makes many system calls and was on a CPU.
	Skids
)
