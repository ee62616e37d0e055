// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"sort"

	"prywalk/frames"
)

// # The version before
//
// A stack is walked some time after it was copied, and the list may have changed meanwhile. So what it described before
// its last change is kept until the next one, with the moments between which the change has come. Copies from before
// are walked by what was described then. It may not be known whether a copy was made before or after. Then both have to
// say the same, or only one of them may have code at that place: it runs, so it was there.

// past is the version before the last change.
type past struct {
	spans  []span
	images []*image // of it, that no list has any more
	// since is from when on it held, seen when it was last seen to hold, until when it was seen to be over (ns).
	since, seen, until int64
}

// view says by which version a copy is walked.
type view uint8

const (
	viewNow view = iota
	viewBefore
	viewEither // nobody knows
)

// shift makes the version of now that of before.
func (c *Code) shift() {
	c.forgetPast()
	c.past.spans, c.spans = c.spans, c.past.spans
	c.past.since, c.past.seen = c.past.until, c.agreed
	c.past.until = c.o.Now()
	c.agreed = c.past.until
}

// forgetPast lets go of the version before, but for its names.
func (c *Code) forgetPast() {
	for _, img := range c.past.images {
		c.setAside(img)
	}
	clear(c.past.images)
	c.past.images, c.past.spans = c.past.images[:0], c.past.spans[:0]
}

// At has the rules from now on be those for what was copied at a moment, and reports whether rules that were given may
// not hold any more. ask: what has changed is read. While nothing changes that costs two reads for each list.
func (c *Code) At(moment int64, ask bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := false
	if ask {
		now := c.o.Now()
		if c.differs() {
			changed = c.refreshAll()
		} else {
			c.agreed = now
		}
	}
	v := c.past.viewOf(moment)
	if v != c.view {
		c.view, changed = v, true
	}
	return changed
}

// differs reports whether a list has another head than when it was read.
func (c *Code) differs() bool {
	for _, l := range c.lists {
		if h, _ := c.readHead(l); h != l.head {
			return true
		}
	}
	return false
}

// viewOf gives the version for what was copied at a moment.
func (p *past) viewOf(moment int64) view {
	switch {
	case moment >= p.until:
		return viewNow
	case moment >= p.since && moment <= p.seen:
		return viewBefore
	}
	return viewEither
}

// find gives the image of the code at pc, nil if none.
func find(spans []span, pc uint64) *image {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].start > pc })
	if i == 0 || pc >= spans[i-1].end {
		return nil
	}
	return spans[i-1].of
}

// none is the answer where code is known to be other code than that which ran.
var none = frames.Rule{Flags: frames.FlagNone}

// ruleUnless gives the rule of an image that was there before. Where there was none, what is there now is not it.
func (img *image) ruleUnless(now *image, q frames.Query) (frames.Rule, *frames.Row, bool) {
	if img == nil && now != nil {
		return none, nil, true
	}
	return img.rule(q)
}

// either gives the rule of whichever of two images had run.
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
