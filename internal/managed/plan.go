// SPDX-License-Identifier: Apache-2.0

package managed

// Planner is a Namer that needs more than the stack. Plan and Anchor are for the goroutine that walks; what they give
// is handed to the tracer as data. Nothing of the run-time system is called while a thread is stopped.
type Planner interface {
	Namer
	// Plan says what is copied besides the stack; nil: nothing. It does not change while the Runtime is there.
	Plan() *Plan
	// Anchor gives the address that the plan begins from for a thread (its thread state); false if the thread is none of
	// the run-time system's. tid is its number in its own pid namespace, as in a [Sample]. pthread is the thread pointer
	// (fs base, TPIDR_EL0), 0 if it is not known.
	Anchor(tid int, pthread uint64) (addr uint64, ok bool)
}

// Plan is a short program of reads, carried out while a thread is stopped, or between two readings of a sleeper's run
// count.
type Plan struct {
	Steps []Step
	// Find are steps for a thread whose anchor is not known yet, as of one that has just begun: they fill slot 0. Until
	// then it is 0, so that Off is an address. Empty: such a thread is done without.
	Find []Step
	// Known has the objects that Each leaves out; nil: none.
	Known *Known
	// Lock is where the run-time system's own lock lies, from the first address to the second; 0, 0: nowhere, as far as is
	// known. Threads that compute pass it on to each other.
	Lock [2]uint64
}

// Step is one read. Slots hold addresses: slot 0 is the anchor, slot 1 the stack pointer, slot 2 the thread pointer,
// slot 3 the thread's number; further ones are filled by Load, and are 0 until then.
type Step struct {
	Op Op
	// Base is the slot that the address is taken from, plus Off.
	Base uint8
	Off  int64
	// To is the slot that Load and Seek fill.
	To uint8
	// End is the slot that holds the address where Copy ends, or what Seek looks for; 0: only Max ends Copy.
	End uint8
	// Max is the most bytes of Copy, or the most nodes of Chain and Seek, each of Size bytes.
	Max, Size uint32
	// Next is the offset of the link in a node of Chain and Seek.
	Next int32
	// At is the offset of the word in a node that Seek compares.
	At int32
	// Asleep: the step is for threads that sleep only, and is left out in a stop.
	Asleep bool
}

// Op is what a Step does.
type Op uint8

// The operations of a plan.
const (
	// Load reads a word at Base+Off into the slot To. A word that cannot be read, or 0, ends the plan.
	Load Op = iota
	// Copy copies from Base+Off to End, at most Max bytes, into a region of the sample.
	Copy
	// Chain copies nodes of Size bytes, from Base+Off on, each led to by the word at Next in the one before, until 0 or
	// Max nodes. Nodes that lie in what was copied already are followed there.
	Chain
	// Each copies, for each node of the last Chain, Size bytes at Next beyond the address that the node has at Off, at
	// most Max times. A second Each goes on from what that led to. What is in [Plan.Known] is left out.
	Each
	// Seek copies nodes as Chain does, up to the one whose word at At is what the slot End holds; To is its address. If
	// there is none, the plan ends.
	Seek
)

// SlotZero is a slot that no step fills: with it, Off is an address.
const SlotZero = MaxSlots - 1

// MaxSteps, MaxBytes, MaxNodes and MaxSlots bound a plan.
const (
	MaxSteps = 16
	MaxBytes = 256 << 10
	MaxNodes = 1024
	MaxSlots = 16
)
