// SPDX-License-Identifier: Apache-2.0

package profile

import "prywalk/internal/sample"

// InternLeaf gives the number of a stack that Intern has seen with a synthetic
// entry inside of its innermost frame, such as "[ran between ticks]".
func (b *Builder) InternLeaf(id sample.StackID, leaf string) sample.StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tables
	t.key = append(t.append(t.key[:0], []Loc{{Synthetic: leaf}}), t.stacks[id]...)
	return t.known()
}
