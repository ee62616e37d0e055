// SPDX-License-Identifier: Apache-2.0

package managed

// Constructors of steps: base, to, end and want are slots, off and at offsets in bytes; size and most bound the copy.

// LoadStep is a [Load].
func LoadStep(base uint8, off int64, to uint8) Step {
	return Step{Op: Load, Base: base, Off: off, To: to}
}

// CopyStep copies size bytes at base + off.
func CopyStep(base uint8, off int64, size uint32) Step {
	return Step{Op: Copy, Base: base, Off: off, Max: size}
}

// CopyUpToStep copies from base to the address in slot end.
func CopyUpToStep(base, end uint8, most uint32) Step {
	return Step{Op: Copy, Base: base, End: end, Max: most}
}

// CopyArrayStep copies nodes of size bytes from base to the address in slot end.
func CopyArrayStep(base, end uint8, size, most uint32) Step {
	return Step{Op: CopyArray, Base: base, End: end, Size: size, Max: most}
}

// CopyListStep copies nodes from base on, linked by the word at linkAt.
func CopyListStep(base uint8, size uint32, linkAt int32) Step {
	return Step{Op: CopyList, Base: base, Size: size, Next: linkAt, Max: MaxNodes}
}

// CopyTargetsStep copies size bytes at from beyond the address in each node's word at pointerAt.
func CopyTargetsStep(pointerAt int64, from int32, size, most uint32) Step {
	return Step{Op: CopyTargets, Off: pointerAt, Next: from, Size: size, Max: most}
}

// FindNodeStep sets [SlotAnchor] to the node whose word at at equals slot want.
func FindNodeStep(base uint8, size uint32, linkAt, at int32, want uint8, most uint32) Step {
	return Step{Op: FindNode, Base: base, Size: size, Next: linkAt, At: at, End: want, Max: most}
}

// AddScaledStep is an [AddScaled].
func AddScaledStep(base uint8, off int64, scale uint32, to uint8) Step {
	return Step{Op: AddScaled, Base: base, Off: off, Size: scale, To: to}
}

// SaveNodesStep is a [SaveNodes].
func SaveNodesStep() Step { return Step{Op: SaveNodes} }

// RestoreNodesStep is a [RestoreNodes].
func RestoreNodesStep() Step { return Step{Op: RestoreNodes} }

// Where restricts CopyTargets to nodes whose word at at is value under mask.
func (s Step) Where(at int32, mask, value uint64) Step {
	s.At, s.Mask, s.Value = at, mask, value
	return s
}

// Unless restricts CopyTargets to the other nodes than Where.
func (s Step) Unless(at int32, mask, value uint64) Step {
	s.Except = true
	return s.Where(at, mask, value)
}

// WhereZero restricts CopyTargets to nodes whose word at at is 0.
func (s Step) WhereZero(at int32) Step {
	s.At, s.OnlyZero = at, true
	return s
}

// WithPage makes CopyTargets copy the object's whole page.
func (s Step) WithPage() Step {
	s.WholePage = true
	return s
}

// WhenAsleep restricts the step to sleeping threads.
func (s Step) WhenAsleep() Step {
	s.OnlyAsleep = true
	return s
}
