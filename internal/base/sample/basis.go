// SPDX-License-Identifier: Apache-2.0

package sample

// Basis is whether the stack of a sample may stand for its thread's CPU time (package pace).
type Basis uint8

// Values of [Basis].
const (
	// Exact: the CPU time goes to this stack. The thread was asleep, or the interrupt was served on its own CPU.
	Exact Basis = iota
	// Undecided: the thread may make many system calls. Attribution waits for its next sample with FewCalls or ManyCalls.
	Undecided
	// FewCalls: the thread's Undecided samples count as Exact. ManyCalls: they count as Skids.
	FewCalls
	ManyCalls
	// Skids: the CPU time does not go to this stack. The thread makes many system calls and was on a CPU.
	Skids
)
