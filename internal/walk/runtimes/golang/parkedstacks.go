// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"bytes"
	"cmp"
	"slices"

	"prywalk/frames"
)

// # Stacks of many goroutines in few reads
//
// Each stack is read twice, between two reads of its g; equal copies prove that the goroutine did not run:
//
//	g g g g …   stacks stacks  stacks stacks …   g g g g …
//
// Adjacent stacks (runtime/stack.go, stackpool) are one region.

const (
	// Per batch; the last stack may exceed the bytes.
	batchGoroutines = 64
	batchBytes      = 128 << 10
	// Bytes of a stack, and of the gap in one region.
	maxFollowedStack = 256 << 10
	stackGap         = 2 << 10
)

type copyState uint8

const (
	copyChanged copyState = iota // it ran, or g is invalid
	copyNoStack                  // ended, or on a thread's stack
	copyWhole
)

type goroutineCopy struct {
	place int
	state copyState
	sum   uint64 // of g
	g     Goroutine
	stack []byte // from sp on

	region, at int // in spans, offset
}

type parkedStacks struct {
	expected []int // ascending
	batch    []goroutineCopy
	next     int

	alone         *parkedStacks
	reader        *gReader
	addrs         []uint64
	order         []int // by stack pointer
	spans         []Range
	first, second []byte
	regions       []frames.Region // each twice
}

func (s *parkedStacks) expect(places []int) {
	s.expected = append(s.expected[:0], places...)
	s.batch, s.next = s.batch[:0], 0
}

// copyOf returns the copy of a goroutine, valid until the next call; nil: it keeps changing.
func (s *parkedStacks) copyOf(f *goroutinePoller, place int) *goroutineCopy {
	if c := s.read(place); c != nil && c.state != copyChanged {
		return c
	}
	if i, is := slices.BinarySearch(s.expected, place); is && s.next >= len(s.batch) {
		s.expected = s.expected[i:]
		s.fill(f, s.expected[:min(len(s.expected), batchGoroutines)])
		s.expected = s.expected[len(s.batch):]
		if c := s.read(place); c != nil && c.state != copyChanged {
			return c
		}
	}
	if s.alone == nil {
		s.alone = &parkedStacks{reader: s.reader}
	}
	for range goroutineTries {
		if s.alone.fill(f, []int{place}); s.alone.batch[0].state != copyChanged {
			return &s.alone.batch[0]
		}
	}
	return nil
}

func (s *parkedStacks) read(place int) *goroutineCopy {
	for s.next < len(s.batch) && s.batch[s.next].place < place {
		s.next++
	}
	if s.next == len(s.batch) || s.batch[s.next].place != place {
		return nil
	}
	s.next++
	return &s.batch[s.next-1]
}

func (s *parkedStacks) fill(f *goroutinePoller, places []int) {
	r := f.allgs
	s.batch, s.next, s.addrs = s.batch[:0], 0, s.addrs[:0]
	for _, p := range places {
		s.addrs = append(s.addrs, f.gs[p])
	}
	size := 0
	s.reader.each(s.addrs, func(i int, b []byte) {
		if size > batchBytes {
			return
		}
		c := goroutineCopy{place: places[i]}
		if b != nil {
			c.g, c.sum = r.decode(s.addrs[i], b), f.sum(b)
			c.state = r.stateToCopy(&c.g)
		}
		if c.state == copyWhole {
			size += int(c.size())
		}
		s.batch = append(s.batch, c)
	})
	s.copyStacks()
	s.reader.each(s.addrs[:len(s.batch)], func(i int, b []byte) {
		if c := &s.batch[i]; c.state == copyWhole && (b == nil || f.sum(b) != c.sum) {
			c.state = copyChanged
		}
	})
}

// stateToCopy returns copyWhole for a g whose stack is still to be copied.
func (a *allgs) stateToCopy(g *Goroutine) copyState {
	switch {
	case g.ended():
		return copyNoStack
	case g.Status > goroutineLast || g.ID == 0 || g.StackLo >= g.StackHi || !a.startFuncs.at(g.Start).ok:
		return copyChanged
	case g.onThread():
		return copyNoStack
	}
	return copyWhole
}

func (c *goroutineCopy) size() uint64 { return min(c.g.StackHi-c.g.SP, maxFollowedStack) }

func (s *parkedStacks) copyStacks() {
	s.order = s.order[:0]
	for i := range s.batch {
		if s.batch[i].state == copyWhole {
			s.order = append(s.order, i)
		}
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Compare(s.batch[a].g.SP, s.batch[b].g.SP) })
	ranges := s.ranges()
	total := uint64(0)
	for _, r := range ranges {
		total += r.Size
	}
	if uint64(len(s.first)) < total {
		s.first, s.second = make([]byte, total), make([]byte, total)
	}
	s.regions = s.regions[:0]
	used := uint64(0)
	for _, r := range ranges {
		s.regions = append(s.regions, frames.Region{Addr: r.Addr, Bytes: s.first[used : used+r.Size]},
			frames.Region{Addr: r.Addr, Bytes: s.second[used : used+r.Size]})
		used += r.Size
	}
	s.reader.read(s.regions)
	for _, i := range s.order {
		c := &s.batch[i]
		a, b := s.regions[2*c.region].Bytes, s.regions[2*c.region+1].Bytes
		n := int(c.size())
		if a == nil || b == nil || !bytes.Equal(a[c.at:c.at+n], b[c.at:c.at+n]) {
			c.state = copyChanged
			continue
		}
		c.stack = a[c.at : c.at+n : c.at+n]
	}
}

func (s *parkedStacks) ranges() []Range {
	out := s.spans[:0]
	for _, i := range s.order {
		c := &s.batch[i]
		sp, end := c.g.SP, c.g.SP+c.size()
		if k := len(out) - 1; k < 0 || sp > out[k].Addr+out[k].Size+stackGap || end-out[k].Addr > regionBytes {
			out = append(out, Range{sp, 0})
		}
		last := &out[len(out)-1]
		c.region, c.at = len(out)-1, int(sp-last.Addr)
		last.Size = max(last.Size, end-last.Addr)
	}
	s.spans = out
	return out
}
