package profile

import (
	"encoding/binary"
	"slices"
)

// InternLeaf gives the number of a stack that Intern has seen with a synthetic
// entry inside of its innermost frame, such as "[ran between ticks]".
func (b *Builder) InternLeaf(id StackID, leaf string) StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tables
	key := slices.Grow(t.key[:0], 4+len(t.stacks[id]))
	key = binary.LittleEndian.AppendUint32(key, t.loc(&Loc{Synthetic: leaf}))
	key = append(key, t.stacks[id]...)
	t.key = key
	return t.known()
}
