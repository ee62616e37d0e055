// SPDX-License-Identifier: Apache-2.0

package managed

// Plan is a program of reads, executed while a thread is stopped, or between two reads of a sleeping thread's run
// count.
type Plan struct {
	Steps []Step
	// Find fills [SlotAnchor] for a thread without a known anchor; empty if not supported.
	Find []Step
	// Known has the objects that Each skips; nil: none.
	Known *Known
	// Lock is the address range of the runtime's global lock; 0, 0: unknown.
	Lock [2]uint64
}

// Step is one read. Slots are variables, 0 until filled.
type Step struct {
	Op Op
	// Base is the slot of the address to which Off is added.
	Base uint8
	Off  int64
	// To is the slot written by Load, Seek and Sum.
	To uint8
	// End is the slot with the end address of Copy and Row, or with the value that Seek searches; 0: none.
	End uint8
	// Max bounds the bytes of Copy and Row, or the number of nodes, of Size bytes each.
	Max, Size uint32
	// Next is the offset of the link in a node.
	Next int32
	// At is the offset of the word tested by Seek, Empty and Mask.
	At int32
	// Empty restricts Each to nodes whose word at At is 0.
	Empty bool
	// Mask restricts Each to nodes whose word at At has the bits Value under Mask, Except to the others; 0: all.
	Mask, Value uint64
	Except      bool
	// Near lets Each copy the object's whole page.
	Near bool
	// Asleep restricts the step to sleeping threads.
	Asleep bool
}

// Op is a step's operation.
type Op uint8

// The operations of a plan.
const (
	// Load reads the word at Base+Off into To. An unreadable word, or 0, ends the plan.
	Load Op = iota
	// Copy copies from Base+Off to End, at most Max bytes.
	Copy
	// Chain copies nodes of Size bytes from Base+Off on, linked by the word at Next, until 0 or Max nodes.
	Chain
	// Each copies, for each node of the last Chain or Each, Size bytes at Next beyond the address at the node's Off, at
	// most Max times, without [Plan.Known].
	Each
	// Again restores the nodes of the first Chain or the last Mark.
	Again
	// Seek copies nodes as Chain, up to the one whose word at At equals slot End, and stores its address in To, else
	// ends the plan.
	Seek
	// Sum adds the word at Base+Off, times Size, to To.
	Sum
	// Mark saves the nodes for Again.
	Mark
	// Row copies like Copy, and splits the copy into nodes of Size bytes.
	Row
)

// Slots.
const (
	SlotAnchor        = iota // of [Namer.Anchor]
	SlotSP                   // stack pointer
	SlotThreadPointer        // fs base, TPIDR_EL0
	SlotThreadID
	SlotFirstFree // for addresses that the plan reads
	// SlotZero is always 0: Off is then an absolute address.
	SlotZero = MaxSlots - 1
)

// MaxSteps, MaxBytes, MaxNodes and MaxSlots bound a plan.
const (
	MaxSteps = 48
	MaxBytes = 256 << 10
	MaxNodes = 1024
	MaxSlots = 16
)
