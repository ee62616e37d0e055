// SPDX-License-Identifier: Apache-2.0

package managed

// One constructor for each operation of a plan, and what restricts it: base, to, end and want are slots, off and at are
// offsets in bytes, size and most bound what is copied.

// LoadStep reads the word at base + off into slot to ([Load]).
func LoadStep(base uint8, off int64, to uint8) Step {
	return Step{Op: Load, Base: base, Off: off, To: to}
}

// CopyStep copies size bytes at base + off ([Copy]).
func CopyStep(base uint8, off int64, size uint32) Step {
	return Step{Op: Copy, Base: base, Off: off, Max: size}
}

// CopyUpToStep copies from base to the address in slot end, at most most bytes ([Copy]).
func CopyUpToStep(base, end uint8, most uint32) Step {
	return Step{Op: Copy, Base: base, End: end, Max: most}
}

// CopyArrayStep copies from base to the address in slot end, at most most bytes, as nodes of size bytes each
// ([CopyArray]).
func CopyArrayStep(base, end uint8, size, most uint32) Step {
	return Step{Op: CopyArray, Base: base, End: end, Size: size, Max: most}
}

// CopyListStep copies up to [MaxNodes] nodes of size bytes from base on, linked by the word at linkAt ([CopyList]).
func CopyListStep(base uint8, size uint32, linkAt int32) Step {
	return Step{Op: CopyList, Base: base, Size: size, Next: linkAt, Max: MaxNodes}
}

// CopyTargetsStep copies, for each node, size bytes at from beyond the address in the node's word at pointerAt, for at
// most most nodes ([CopyTargets]).
func CopyTargetsStep(pointerAt int64, from int32, size, most uint32) Step {
	return Step{Op: CopyTargets, Off: pointerAt, Next: from, Size: size, Max: most}
}

// FindNodeStep copies up to most nodes of size bytes from base on, linked by the word at linkAt, up to the one whose
// word at at equals slot want. Its address becomes [SlotAnchor] ([FindNode]).
func FindNodeStep(base uint8, size uint32, linkAt, at int32, want uint8, most uint32) Step {
	return Step{Op: FindNode, Base: base, Size: size, Next: linkAt, At: at, End: want, Max: most}
}

// AddScaledStep adds the word at base + off, times scale, to slot to ([AddScaled]).
func AddScaledStep(base uint8, off int64, scale uint32, to uint8) Step {
	return Step{Op: AddScaled, Base: base, Off: off, Size: scale, To: to}
}

// SaveNodesStep saves the nodes for RestoreNodesStep ([SaveNodes]).
func SaveNodesStep() Step { return Step{Op: SaveNodes} }

// RestoreNodesStep restores the nodes of the first CopyListStep or the last SaveNodesStep ([RestoreNodes]).
func RestoreNodesStep() Step { return Step{Op: RestoreNodes} }

// Where restricts CopyTargets to nodes whose word at at has the bits value under mask.
func (s Step) Where(at int32, mask, value uint64) Step {
	s.At, s.Mask, s.Value = at, mask, value
	return s
}

// Unless restricts CopyTargets to nodes whose word at at has other bits than value under mask.
func (s Step) Unless(at int32, mask, value uint64) Step {
	s.Except = true
	return s.Where(at, mask, value)
}

// WhereZero restricts CopyTargets to nodes whose word at at is 0.
func (s Step) WhereZero(at int32) Step {
	s.At, s.OnlyZero = at, true
	return s
}

// WithPage lets CopyTargets copy the object's whole page.
func (s Step) WithPage() Step {
	s.WholePage = true
	return s
}

// WhenAsleep restricts the step to sleeping threads.
func (s Step) WhenAsleep() Step {
	s.OnlyAsleep = true
	return s
}
