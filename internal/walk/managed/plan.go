// SPDX-License-Identifier: Apache-2.0

package managed

// Plan is a program of reads, executed while a thread is stopped, or asleep.
type Plan struct {
	Steps []Step
	// FindAnchor fills [SlotAnchor] for a thread without a known anchor.
	FindAnchor []Step
	// FromThreadPointer means that the thread pointer stands in for an unknown anchor.
	FromThreadPointer bool
	// Skip has the objects that CopyTargets skips.
	Skip *SkipSet
}

// Step is one read. Slots are variables, 0 until filled. The fields of each operation, besides OnlyAsleep:
//
//	Load                    Base Off To
//	Copy                    Base Off    End Max
//	CopyArray               Base Off    End Max Size
//	CopyList                Base Off        Max Size Next
//	FindNode                Base Off To End Max Size Next At
//	AddScaled               Base Off To         Size
//	CopyTargets                  Off        Max Size Next At Mask Value WholePage
//	SaveNodes, RestoreNodes (none)
type Step struct {
	Op   Op
	Base uint8
	Off  int64
	To   uint8
	// End is the slot of the end address, or of FindNode's value, or 0 if there is none.
	End uint8
	// Max bounds the number of nodes; of Copy and CopyArray it bounds the number of bytes.
	Max uint32
	// Size is the number of bytes of a node. AddScaled multiplies by it.
	Size uint32
	// Next is the offset of the link to the next node. CopyTargets adds it to the address that a node contains.
	Next int32
	// At is the offset of the word in a node that Mask tests.
	At int32
	// With a Mask that is not 0 only those nodes are taken whose tested word, under Mask, is Value.
	Mask, Value uint64
	WholePage   bool
	// OnlyAsleep restricts the step to sleeping threads.
	OnlyAsleep bool
}

// Op is a step's operation.
type Op uint8

// The operations of a plan.
const (
	// Load reads the word at Base+Off into To. An unreadable word, or 0, ends the plan.
	Load Op = iota
	// Copy copies from Base+Off to End, at most Max bytes.
	Copy
	// CopyList copies nodes from Base+Off on, linked by the word at Next, until 0 or Max nodes. The first CopyList
	// saves them. If the first node is a saved one, it copies none, and the current nodes stay.
	CopyList
	// CopyTargets copies, for each current node, Size bytes at Next beyond the address in its word at Off, without
	// [Plan.Skip]. The objects copied become the current nodes.
	CopyTargets
	// RestoreNodes makes the saved nodes current: those of the last SaveNodes, else of the first CopyList.
	RestoreNodes
	// FindNode copies nodes up to the one whose word at At equals slot End, and stores its address in To. Without one
	// the plan ends.
	FindNode
	// AddScaled adds the word at Base+Off, times Size, to To.
	AddScaled
	// SaveNodes saves the nodes for RestoreNodes.
	SaveNodes
	// CopyArray is Copy of nodes of Size bytes.
	CopyArray
)

// Slots.
const (
	SlotAnchor = iota // of [FrameSource.Anchor]
	SlotSP
	SlotThreadPointer // fs base, TPIDR_EL0
	SlotInnerTID
	SlotFirstFree
	// SlotZero is always 0, so that Off is an absolute address.
	SlotZero = MaxSlots - 1
)

// Bounds of a plan.
const (
	MaxSteps = 48
	MaxBytes = 256 << 10
	MaxNodes = 1024
	MaxSlots = 16
)
