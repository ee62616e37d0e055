// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"slices"
	"sort"

	"prywalk/frames"
)

// previous is the version before the last change: earlier copies are walked by it. For copies within the interval of
// the change both versions must agree, or only one may have code at the address.
type previous struct {
	spans  []span
	images []*image // in no list now
	// In ns: begin; last found valid; first found replaced.
	validFrom, lastValid, firstReplaced int64
}

type versionChoice uint8

const (
	versionNow versionChoice = iota
	versionBefore
	versionEither // copied while the list changed
)

func (c *Code) retireVersion() {
	c.dropPrevious()
	c.previous.spans, c.spans = c.spans, c.previous.spans
	c.previous.validFrom, c.previous.lastValid = c.previous.firstReplaced, c.unchangedAt
	c.previous.firstReplaced = c.now()
	c.unchangedAt = c.previous.firstReplaced
}

// dropPrevious keeps only names.
func (c *Code) dropPrevious() {
	for _, img := range c.previous.images {
		c.keepNames(img)
	}
	clear(c.previous.images)
	c.previous.images, c.previous.spans = c.previous.images[:0], c.previous.spans[:0]
}

// SetTime selects the version for copies of that time (see [managed.CodeHistory]).
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
	v := c.previous.choiceFor(at)
	if v != c.choice {
		c.choice, changed = v, true
	}
	return changed
}

func (c *Code) listsChanged() bool {
	return slices.ContainsFunc(c.lists, func(l *list) bool { return c.readHead(l) != l.head })
}

func (p *previous) choiceFor(moment int64) versionChoice {
	switch {
	case moment >= p.firstReplaced:
		return versionNow
	case moment >= p.validFrom && moment <= p.lastValid:
		return versionBefore
	}
	return versionEither
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

// ruleUnless returns the rule of img, of the previous version; none if only the present one has code there.
func (img *image) ruleUnless(now *image, q frames.Query) (frames.Rule, *frames.Row, bool) {
	if img == nil && now != nil {
		return none, nil, true
	}
	return img.rule(q)
}

// either returns the rule where it is unknown which image ran: the only image's, or that on which both agree.
func either(now, before *image, q frames.Query) (frames.Rule, *frames.Row, bool) {
	switch {
	case before == nil || before == now:
		return now.rule(q)
	case now == nil:
		return before.rule(q)
	}
	r, row, ok := now.rule(q)
	was, wasRow, wasOK := before.rule(q)
	if !ok || !wasOK || row != nil || wasRow != nil || r != was {
		return none, nil, true
	}
	return r, nil, true
}
