package profile

import (
	"encoding/binary"
	"slices"
)

// Part names N entries of a stack that Intern has seen, from the entry with the number
// From on; the innermost is number 0.
type Part struct {
	Stack   StackID
	From, N int
}

// InternAround gives a stack its number as Intern does. Its entries are inner, then those
// of part, then outer. The entries of part are not looked up again: a deep stack of which
// only the innermost frames are new costs a copy of some bytes. part must lie within its
// stack.
func (b *Builder) InternAround(inner []Loc, part Part, outer []Loc) StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tables.around(inner, part, outer)
}

// around gives the number of a stack of which a part is known.
func (t *tables) around(inner []Loc, part Part, outer []Loc) StackID {
	if len(inner)+part.N+len(outer) == 0 {
		return t.stack(nil)
	}
	key := t.append(t.key[:0], inner)
	if part.N > 0 {
		key = append(key, t.stacks[part.Stack][locSize*part.From:locSize*(part.From+part.N)]...)
	}
	t.key = t.append(key, outer)
	return t.known()
}

// locSize is what the number of a location takes in a stack.
const locSize = 4

// append adds the numbers of locations to a key.
func (t *tables) append(key []byte, stack []Loc) []byte {
	key = slices.Grow(key, locSize*len(stack))
	for i := range stack {
		key = binary.LittleEndian.AppendUint32(key, t.loc(&stack[i]))
	}
	return key
}
