package gdbjit

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"prywalk/frames"
)

// Options says what a [Code] reads.
type Options struct {
	// Arch is the process's; images for another one are passed over.
	Arch frames.Arch
	// Read fills b with the process's memory at addr and gives the number of bytes.
	Read func(addr uint64, b []byte) int
}

// Code is the code of a process that describes itself. It implements [frames.RuleSource] at run-time
// addresses, and may be used by several goroutines.
type Code struct {
	o   Options
	mu  sync.Mutex
	buf [markSize]byte

	lists  []*list
	images map[entry]*image
	spans  []span   // of the images' code, in order, without overlaps
	gone   []*image // what is not registered any more, oldest first
	kept   int      // bytes of images and gone
	copied uint64   // bytes of images that were copied in this refresh
	fresh  bool     // an image was added in it
}

// span is a run of code, end excluded, of an image.
type span struct {
	start, end uint64
	of         *image
	age        int // 0 is the newest
}

// New gives the code of a process of which no list is known yet.
func New(o Options) *Code { return &Code{o: o, images: map[entry]*image{}} }

// Follow has the lists of these descriptors read from now on, and no others: the run-time addresses of variables
// named __jit_debug_descriptor. At most eight are read.
func (c *Code) Follow(descriptors []uint64) {
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

// Refresh reads what has changed, and reports whether rules that were given may not hold any more. While nothing
// changes it costs two reads for each list.
func (c *Code) Refresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copied = 0
	changed := false
	for _, l := range c.lists {
		c.fresh = false
		changed = c.refresh(l) || changed
	}
	if changed {
		c.reorder()
	}
	return changed
}

// load reads an entry's image if it is not known; false if it is left to the next refresh.
func (c *Code) load(e *entry) bool {
	if _, ok := c.images[*e]; ok || c.kept >= maxKept {
		return true
	}
	if c.copied += e.size; c.copied > maxCopied {
		return false
	}
	img := c.open(e)
	c.images[*e] = img
	c.kept += img.size
	c.fresh = true
	return true
}

// reorder sets aside the images that no list has any more, and orders the code of the others.
func (c *Code) reorder() {
	live := map[entry]bool{}
	c.spans = c.spans[:0]
	for _, l := range c.lists {
		for age, e := range l.entries {
			live[e] = true
			if img := c.images[e]; img != nil {
				for _, r := range img.code {
					c.spans = append(c.spans, span{start: r.start, end: r.end, of: img, age: age})
				}
			}
		}
	}
	for e, img := range c.images {
		if !live[e] {
			delete(c.images, e)
			c.setAside(img)
		}
	}
	slices.SortStableFunc(c.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.age, b.age))
	})
	c.spans = disjoint(c.spans)
}

// disjoint drops what overlaps with something newer.
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

// setAside keeps the names of an image that was unregistered.
func (c *Code) setAside(img *image) {
	c.kept -= img.size
	img.dropCFI()
	if len(img.funcs) == 0 {
		return
	}
	c.kept += img.size
	c.gone = append(c.gone, img)
	for len(c.gone) > 0 && (len(c.gone) > maxGone || c.kept > maxKept) {
		c.kept -= c.gone[0].size
		c.gone = c.gone[1:]
	}
}

// find gives the image of the code at pc, nil if none.
func (c *Code) find(pc uint64) *image {
	i := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].start > pc })
	if i == 0 || pc >= c.spans[i-1].end {
		return nil
	}
	return c.spans[i-1].of
}

// Rule implements [frames.RuleSource].
func (c *Code) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	img := c.find(q.Lookup(c.o.Arch))
	if img == nil || img.cfi == nil {
		return frames.Rule{}, nil, false
	}
	return img.cfi.Rule(q)
}

// Name gives the symbol of the code at pc, also where it is not registered any more and nothing else came in its place.
func (c *Code) Name(pc uint64) (name string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if img := c.find(pc); img != nil {
		if f := img.function(pc); f != nil {
			return f.name, true
		}
		return "", false
	}
	for i := len(c.gone) - 1; i >= 0; i-- {
		if f := c.gone[i].function(pc); f != nil {
			return f.name, true
		}
	}
	return "", false
}
