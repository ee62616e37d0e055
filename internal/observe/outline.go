// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"slices"
	"sync/atomic"

	"prywalk/frames"
)

// # Stacks that are deeper than 64 KiB
//
// A walk of a deep stack needs few words of it: those near each frame's outer end. An outline has where these were in a
// thread's last walks, and the frame size of each return address. A stop copies:
//
//   - the top of the stack and, in the same read, a piece at each known end;
//
//   - from each known return address in the top, frame by frame, the ends at new places ([search.follow]);
//
//   - if no such chain leads to the outermost frame: all up to the last known end of the stack, if near; else further
//     memory until a return address in it leads there ([search.bridge]).
//
//     sp                                                                    root
//     │ top: 24 KiB │      │ end │                │ end │   │ end │      │ end │
//
// Stale return addresses can also lead to the root, so every candidate in the top part starts a chain. An outline is a
// guess of what to copy; if the walk lacks a word, the next stop copies in one piece.
const (
	outlineFrom = 64 << 10  // bytes; shallower stacks are copied in one piece
	topCopy     = 24 << 10  // bytes of the top
	wholeCopy   = 256 << 10 // bytes in one piece, after an outline that did not fit
)

// Bounds of what is kept of the last walks.
const (
	maxMarks = 120  // frame ends
	maxChain = 1024 // frames of one walk, or of one chain
	markAge  = 256  // walks that an end is kept for
	smallFor = 1000 // walks that read little, until the outline is dropped
	stepBits = 11   // log2 of the table of frame sizes
	maxSteps = 1 << stepBits / 2
)

// mark is the outer end of a frame, and the return address there.
type mark struct {
	at, pc frames.Addr
	seen   uint32 // number of the last walk that had it
}

// Outline gathers the frames of one walk. It is for one goroutine, and reusable after Reset.
type Outline struct{ marks []mark }

// Reset empties the outline.
func (o *Outline) Reset() { o.marks = o.marks[:0] }

// Add adds a frame of the walk, if its PC is a return address, which then is the word below its stack pointer (x86-64).
func (o *Outline) Add(f *frames.Frame) {
	if f.Caller && f.SP != 0 && len(o.marks) < maxChain {
		o.marks = append(o.marks, mark{at: f.SP, pc: f.PC})
	}
}

const (
	sizeRoot   = ^frames.Addr(0) // the outermost frame
	sizeVaries = ^frames.Addr(0) - 1
)

// steps is a hash table from return addresses to the sizes of the frames that they return to. A pc of 0 marks an empty
// place. One goroutine writes and another reads; a value read meanwhile is a harmless guess.
type steps struct {
	table  [1 << stepBits]struct{ pc, size atomic.Uint64 }
	n      int
	lo, hi atomic.Uint64
}

func (t *steps) maybe(v frames.Addr) bool { return v >= t.lo.Load() && v <= t.hi.Load() && v != 0 }

func (t *steps) place(pc frames.Addr) uint64 {
	i := pc * 0x9e3779b97f4a7c15 >> (64 - stepBits)
	for at := t.table[i].pc.Load(); at != 0 && at != pc; at = t.table[i].pc.Load() {
		i = (i + 1) % uint64(len(t.table))
	}
	return i
}

func (t *steps) size(pc frames.Addr) frames.Addr {
	at := &t.table[t.place(pc)]
	if pc == 0 || at.pc.Load() != pc {
		return 0
	}
	return at.size.Load()
}

// learn sets a frame size, and reports whether it is new. A full table is emptied first.
func (t *steps) learn(pc, size frames.Addr) bool {
	if pc == 0 {
		return false
	}
	at := &t.table[t.place(pc)]
	switch {
	case at.pc.Load() == 0:
		if t.n == maxSteps {
			t.clear()
			at = &t.table[t.place(pc)]
		}
		if t.n++; t.n == 1 {
			t.lo.Store(pc)
			t.hi.Store(pc)
		}
		t.lo.Store(min(t.lo.Load(), pc))
		t.hi.Store(max(t.hi.Load(), pc))
		at.size.Store(size)
		at.pc.Store(pc)
		return true
	case at.size.Load() == size || at.size.Load() == sizeVaries:
		return false
	}
	at.size.Store(sizeVaries)
	return true
}

func (t *steps) clear() {
	for i := range t.table {
		t.table[i].pc.Store(0)
	}
	t.n = 0
}

// outline is a guess where the frame ends of a deep stack are. It is immutable, but for steps.
type outline struct {
	marks []mark // by rising address
	steps *steps
}

// outlineHistory has the frame ends and frame sizes of the last walks of a deep stack. It belongs to the goroutine that
// walks.
type outlineHistory struct {
	marks []mark // by rising address
	walks uint32
	steps *steps
	large uint32 // number of the last walk beyond outlineFrom
}

// learn adds the frames of a walk, and reports whether a size or an end is new. complete is set if the last frame is
// the outermost.
func (r *outlineHistory) learn(walk []mark, complete bool) (sizes, marks bool) {
	r.walks++
	for i := range walk {
		switch {
		case i+1 < len(walk):
			sizes = r.steps.learn(walk[i].pc, walk[i+1].at-walk[i].at) || sizes
		case complete:
			sizes = r.steps.learn(walk[i].pc, sizeRoot) || sizes
		}
	}
	return sizes, r.learnMarks(walk[max(0, len(walk)-maxMarks):])
}

func (r *outlineHistory) learnMarks(walk []mark) (changed bool) {
	for _, m := range walk {
		m.seen = r.walks
		i, ok := slices.BinarySearchFunc(r.marks, m.at, func(m mark, at frames.Addr) int { return cmp.Compare(m.at, at) })
		if ok {
			changed = changed || r.marks[i].pc != m.pc
			r.marks[i] = m
			continue
		}
		r.marks, changed = slices.Insert(r.marks, i, m), true
	}
	n := len(r.marks)
	for age := uint32(markAge); age > 0 && (age == markAge || len(r.marks) > maxMarks); age /= 2 {
		r.marks = slices.DeleteFunc(r.marks, func(m mark) bool { return r.walks-m.seen > age })
	}
	return changed || len(r.marks) != n
}

func (r *outlineHistory) give() *outline { return &outline{slices.Clone(r.marks), r.steps} }

// outlineHints is how to copy a deep stack.
type outlineHints struct {
	outline *outline // nil if stops copy in one piece
	misled  bool     // a walk by the last outline was cut
}

// outlining learns from walks how to copy a deep stack.
type outlining struct {
	*outlineHints
	history *outlineHistory // nil if the stack was not deep lately
}

// update learns from a walk beyond outlineFrom. o has its frames, or is nil if some are missing. A cut walk adds
// frames, but drops the outline, so that the next stop copies in one piece.
func (k *outlining) update(end walkEnd, w *frames.Walker, s *RawSample, o *Outline) (dropped bool) {
	if o == nil || end == endPastRoot {
		return false
	}
	known, cut := k.outline != nil, end.cut()
	if dropped = cut && known; dropped {
		k.outline, k.misled = nil, true
	}
	if !cut && end != endComplete || s.Regs.Arch != frames.X86_64 || len(o.marks) == maxChain {
		return dropped // so many frames are small ones
	}
	r := k.historyFor(end, w, s)
	if r == nil {
		return dropped
	}
	newSizes, changed := r.learn(o.marks, !cut)
	if cut {
		changed = newSizes && !known // new places alone do not help
	}
	if changed || !cut && !known {
		k.outline, k.misled = r.give(), false
	}
	return dropped
}

// historyFor gives the history if the stack is or lately was deep, else nil.
func (k *outlining) historyFor(end walkEnd, w *frames.Walker, s *RawSample) *outlineHistory {
	reach := w.Reach()
	if end == endCut || end == endBetween {
		reach = max(reach, w.UnreadAddr())
	}
	deep := reach-s.Mem.Stack.Addr > outlineFrom
	switch r := k.history; {
	case deep && r == nil:
		k.history = &outlineHistory{steps: &steps{}}
	case deep:
		r.large = r.walks
	case r != nil && r.walks-r.large > smallFor:
		k.history, k.outline, k.misled = nil, nil, false
	}
	return k.history
}
