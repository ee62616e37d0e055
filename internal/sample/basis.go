// SPDX-License-Identifier: Apache-2.0

package sample

// Basis says whether the stack of a sample may stand for the processor time of its thread (package skid).
type Basis uint8

// The bases.
const (
	// Exact: the thread was asleep, or the interrupt was served on the thread's own processor.
	Exact Basis = iota
	// Undecided: it is not yet known whether the thread makes many system calls. If it does, the sample says nothing.
	Undecided
	// FewCalls and ManyCalls: it is known how many the thread makes.
	FewCalls
	ManyCalls
	// Skids: the thread makes many system calls and was on a processor; the sample does not show where.
	Skids
)
