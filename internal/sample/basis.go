// SPDX-License-Identifier: Apache-2.0

package sample

// Basis says whether the stack of a sample may stand for the processor time of its thread (package skid).
type Basis uint8

// The bases.
const (
	// Exact samples may: the thread was asleep, or the interrupt was served on the thread's own processor.
	Exact Basis = iota
	// Undecided samples are of a thread of which it is not yet known whether it makes many system calls. If it does,
	// they are as Skids.
	Undecided
	// FewCalls and ManyCalls samples decide that for the ones before: the thread makes few calls, or many.
	FewCalls
	ManyCalls
	// Skids samples may not: the thread makes many system calls and was on a processor; they do not show where.
	Skids
)
