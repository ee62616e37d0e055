// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"cmp"
	"slices"
	"sync"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// Code is a process's registered code, at run-time addresses. Safe for concurrent use.
type Code struct {
	host managed.Host
	now  func() int64 // CLOCK_MONOTONIC ns
	mu   sync.Mutex
	buf  [hashedBytes]byte

	lists        []*list
	images       map[entry]*image
	spans        []span   // of the images' code, by address, disjoint
	unregistered []*image // in no list, oldest first
	keptBytes    int      // of images and unregistered
	copied       uint64   // bytes, in this refresh
	imageAdded   bool
	before       []span // spans before the last change

	// Of the lists: last found as before the last change; last change found; last found unchanged. ns.
	validBefore, changedAt, unchangedAt int64
	copyAge                             age
}

type span struct {
	start, end uint64
	image      *image
	age        int // 0 is the newest
}

// New returns a Code without lists.
func New(h managed.Host) *Code {
	return &Code{host: h, now: procmem.Now, images: map[entry]*image{}}
}

// follow makes Code read the lists of these __jit_debug_descriptor variables only, at most eight.
func (c *Code) follow(descriptors []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.lists)
	c.lists = slices.DeleteFunc(c.lists, func(l *list) bool { return !slices.Contains(descriptors, l.at) })
	if len(c.lists) < n {
		c.reorder()
	}
	for _, at := range descriptors {
		known := slices.ContainsFunc(c.lists, func(l *list) bool { return l.at == at })
		if !known && len(c.lists) < maxLists {
			c.lists = append(c.lists, &list{at: at})
		}
	}
}

// Refresh reads changes, and reports whether earlier rules may be invalid. An unchanged list costs two reads.
func (c *Code) Refresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refreshAll()
}

// refreshAll is Refresh. Precondition: c.mu is held.
func (c *Code) refreshAll() bool {
	c.copied = 0
	changed := false
	for _, l := range c.lists {
		c.imageAdded = false
		changed = c.refresh(l) || changed
	}
	if changed {
		c.reorder()
	}
	return changed
}

// load returns false if the image is left to the next refresh.
func (c *Code) load(e *entry) bool {
	if _, ok := c.images[*e]; ok || c.keptBytes >= maxKept {
		return true
	}
	if c.copied += e.size; c.copied > maxCopied {
		return false
	}
	img := c.open(e)
	c.images[*e] = img
	c.keptBytes += img.size
	c.imageAdded = true
	return true
}

// reorder begins a new version.
func (c *Code) reorder() {
	live := map[entry]bool{}
	c.before, c.spans = c.spans, c.before[:0]
	c.validBefore, c.changedAt = c.unchangedAt, c.now()
	c.unchangedAt = c.changedAt
	for _, l := range c.lists {
		for age, e := range l.entries {
			live[e] = true
			if img := c.images[e]; img != nil {
				for _, r := range img.code {
					c.spans = append(c.spans, span{start: r.start, end: r.end, image: img, age: age})
				}
			}
		}
	}
	for e, img := range c.images {
		if !live[e] {
			delete(c.images, e)
			c.keepNames(img)
		}
	}
	slices.SortStableFunc(c.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.age, b.age))
	})
	c.spans = disjoint(c.spans)
}

// disjoint drops spans that overlap newer ones.
func disjoint(all []span) []span {
	out := all[:0]
	for _, s := range all {
		for n := len(out); n > 0 && s.start < out[n-1].end && s.age < out[n-1].age; n-- {
			out = out[:n-1]
		}
		if n := len(out); n == 0 || s.start >= out[n-1].end {
			out = append(out, s)
		}
	}
	return out
}

func (c *Code) keepNames(img *image) {
	c.keptBytes -= img.size
	img.dropCFI()
	if len(img.funcs) == 0 {
		return
	}
	c.keptBytes += img.size
	c.unregistered = append(c.unregistered, img)
	for len(c.unregistered) > 0 && (len(c.unregistered) > maxGone || c.keptBytes > maxKept) {
		c.keptBytes -= c.unregistered[0].size
		c.unregistered = c.unregistered[1:]
	}
}

// Rule implements [frames.RuleSource].
func (c *Code) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pc := q.LookupPC(c.host.Arch())
	now := find(c.spans, pc)
	if c.copyAge != current {
		before := find(c.before, pc)
		if before != now && (before != nil || c.copyAge == old) {
			return none, nil, true
		}
	}
	return now.rule(q)
}

// Name returns the symbol of the code that was registered last at pc. Earlier code there, of another name, gets it,
// too: names are asked for when a recording is written.
func (c *Code) Name(pc uint64) (name string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, spans := range [...][]span{c.spans, c.before} {
		if img := find(spans, pc); img != nil {
			return img.name(pc)
		}
	}
	for i := len(c.unregistered) - 1; i >= 0; i-- {
		if name, ok = c.unregistered[i].name(pc); ok {
			return name, true
		}
	}
	return "", false
}
