package profile

// InternLeaf gives the number of a stack that Intern has seen with a synthetic
// entry inside of its innermost frame, such as "[ran between ticks]".
func (b *Builder) InternLeaf(id StackID, leaf string) StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	whole := Part{Stack: id, N: len(b.tables.stacks[id]) / locSize}
	return b.tables.around([]Loc{{Synthetic: leaf}}, whole, nil)
}
