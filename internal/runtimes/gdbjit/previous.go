// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"slices"
	"sort"

	"prywalk/frames"
)

// age is of a copy: one from before the last change of the lists has no rules in what has changed.
type age uint8

const (
	current age = iota
	unsure      // copied while the lists changed: code that has come without replacing other code has rules
	old
)

// SetTime selects the rules for copies of that time (see [managed.CodeHistory]).
func (c *Code) SetTime(at int64, mayRead bool) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mayRead {
		now := c.now()
		if c.listsChanged() {
			changed = c.refreshAll()
		} else {
			c.unchangedAt = now
		}
	}
	was := c.copyAge
	switch {
	case at >= c.changedAt:
		c.copyAge = current
	case at > c.validBefore:
		c.copyAge = unsure
	default:
		c.copyAge = old
	}
	return changed || c.copyAge != was
}

func (c *Code) listsChanged() bool {
	return slices.ContainsFunc(c.lists, func(l *list) bool { return c.readHead(l) != l.head })
}

func find(spans []span, pc uint64) *image {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].start > pc })
	if i == 0 || pc >= spans[i-1].end {
		return nil
	}
	return spans[i-1].image
}

// none ends the search for a rule.
var none = frames.Rule{Flags: frames.FlagNoRule}
