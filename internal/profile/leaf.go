// SPDX-License-Identifier: Apache-2.0

package profile

import "prywalk/internal/sample"

// InternLeaf numbers a stack with a synthetic innermost entry added, such as "[ran between ticks]".
func (b *Builder) InternLeaf(id sample.StackID, leaf string) sample.StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tables
	t.key = append(t.appendLocs(t.key[:0], []Loc{{Synthetic: leaf}}), t.stackOfID(id)...)
	return t.internKey()
}
