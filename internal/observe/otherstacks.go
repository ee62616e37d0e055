// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// The copy around a place on another stack, in bytes. With -fsplit-stack there are several.
const (
	otherStackBelow = 16 << 10
	otherStackBytes = 96 << 10
	maxOtherStacks  = 4
)

// StackRef is a place on another stack that a stop copies, too.
type StackRef struct {
	At   frames.Addr // 0 if there is none
	Size int         // bytes to copy, if more than usual
	End  int         // bytes from At to where complete walks ended, or 0
	// FirstStack: At is near the end of the thread's first stack, copied only while the thread is on another.
	FirstStack bool
}

type otherHints struct {
	Others [maxOtherStacks]StackRef
}

type otherStackLearner struct {
	*otherHints
	next      int                 // last replaced place
	keepFor   int                 // walks elsewhere until a place is dropped
	walksLeft [maxOtherStacks]int // of keepFor; 0: the place is kept for ever
	gaveUp    bool                // a place was dropped since the last call of addMissing
}

// update reports whether the walk went to a new place that was not copied. A kernel sample has one stack only.
func (learner *otherStackLearner) update(end walkEnd, w *frames.Walker, s *RawSample) (again bool) {
	learner.noteUsed(w)
	if end != endCutOther && end != endOtherStack || s.How == BySample && w.OnOtherStack() {
		return false
	}
	return learner.addMissing(w.UnreadAddr())
}

// firstStackBytes has the outermost frames and what the kernel puts beyond (arguments, environment).
const firstStackBytes = 24 << 10

func (s *StackRef) copyBytes() int {
	if s.Size == 0 && s.End > 0 {
		return min(otherStackBelow+s.End+copyMargin, otherStackBytes)
	}
	return max(otherStackBytes, s.Size)
}

// add adds a place, and returns its index. added: it is new, and has replaced no other.
func (learner *otherStackLearner) add(addr, size uint64) (at int, added bool) {
	list := &learner.Others
	for i := range list {
		switch place := &list[i]; {
		case place.At>>12 == addr>>12:
			place.Size, place.End = int(size), 0
			return i, false
		case place.At == 0:
			*place = StackRef{At: addr, Size: int(size)}
			learner.walksLeft[i] = 0
			return i, true
		}
	}
	learner.next = (learner.next + 1) % maxOtherStacks
	list[learner.next] = StackRef{At: addr, Size: int(size)}
	learner.walksLeft[learner.next] = 0
	return learner.next, false
}

// Walks elsewhere in a row that drop a place, unless a complete walk has ended there. They double if a walk then goes
// to a missing place.
const (
	minOthersKept = 64
	maxOthersKept = 1 << 14
)

// addMissing reports whether a place that was not copied is new.
func (learner *otherStackLearner) addMissing(addr uint64) (added bool) {
	if learner.keepFor == 0 || learner.gaveUp {
		learner.keepFor = min(max(2*learner.keepFor, minOthersKept), maxOthersKept)
		learner.gaveUp = false
	}
	at, added := learner.add(addr, 0)
	learner.walksLeft[at] = learner.keepFor
	return added
}

func (learner *otherStackLearner) noteUsed(w *frames.Walker) {
	switch {
	case learner.Others[0].At == 0:
	case w.LeftFirstStack() && !w.OnOtherStack(): // back again
	case w.OnOtherStack():
		learner.countWalk(learner.endedAt(w.Regs().SP(), w.StopReason().Complete()))
	default:
		learner.countWalk(0)
	}
}

// countWalk drops the places that no walk has used for long. Bit i of used: this walk used Others[i].
func (learner *otherStackLearner) countWalk(used uint) {
	list, n := &learner.Others, 0
	for i := range list {
		left := &learner.walksLeft[i]
		switch {
		case list[i].At == 0:
			continue
		case *left == 0 || list[i].End > 0: // it is a stack
		case used>>i&1 != 0:
			*left = learner.keepFor
		default:
			*left--
			if *left == 0 {
				learner.gaveUp = true
				continue
			}
		}
		list[n], learner.walksLeft[n] = list[i], *left
		n++
	}
	clear(list[n:])
}

// endedAt returns the set of places (as for countWalk) whose copy includes sp. complete: a complete walk ended there.
func (learner *otherStackLearner) endedAt(sp frames.Addr, complete bool) (found uint) {
	for i := range learner.Others {
		place := &learner.Others[i]
		if place.At == 0 || sp+otherStackBelow-place.At >= uint64(otherStackBelow+max(otherStackBytes, place.Size)) {
			continue
		}
		found |= 1 << i
		if complete {
			place.End = max(place.End, int(int64(sp-place.At)), 1)
		}
	}
	return found
}

// extend extends the copy that ends just before addr, if any, to n bytes from there.
func (learner *otherStackLearner) extend(addr, n uint64) bool {
	for i := range learner.Others {
		if place := &learner.Others[i]; place.At != 0 && addr-place.At <= uint64(place.copyBytes()) {
			place.Size = int(min(addr-place.At+n, deepCopy))
			return true
		}
	}
	return false
}

type otherStacks struct {
	ptrace.Wrapped
	addrs      [maxOtherStacks]frames.Addr
	bufs       [maxOtherStacks][]byte
	sizes      [maxOtherStacks]int
	firstStack [maxOtherStacks]bool
}

func (c *copier) memoryWithoutOutline(t *Thread) ptrace.OtherMemory {
	places, inner := &t.hints.get().Others, c.withPlan(t, t.OtherMemory)
	if places[0].At == 0 {
		return inner
	}
	c.otherStacks.Inner = inner
	for i := range places {
		place := &places[i]
		c.otherStacks.addrs[i] = place.At
		if place.At == 0 {
			continue
		}
		c.otherStacks.firstStack[i] = place.FirstStack
		n := place.copyBytes()
		if len(c.otherStacks.bufs[i]) < n {
			c.otherStacks.bufs[i] = make([]byte, n)
			procmem.Touch(c.otherStacks.bufs[i])
		}
		c.otherStacks.sizes[i] = n
	}
	return &c.otherStacks
}

// Regions implements [ptrace.OtherMemory].
func (o *otherStacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := o.InnerRegions(regs, rd, out)
	first := n
	for i, addr := range o.addrs {
		if addr == 0 || n == len(out) || holds(out[first:n], addr) || o.firstStack[i] && onFirstStack(addr, regs.SP()) {
			continue
		}
		if r := read(rd, addr, o.bufs[i][:o.sizes[i]]); len(r.Bytes) > 0 {
			out[n] = r
			n++
		}
	}
	return n
}

// onFirstStack reports whether sp is on the stack that ends firstStackBytes behind addr.
func onFirstStack(addr, sp frames.Addr) bool { return addr+firstStackBytes-sp <= maxCopy }

func read(rd *ptrace.Reader, addr frames.Addr, buf []byte) frames.Region {
	from := max(max(addr, otherStackBelow)-otherStackBelow, rd.Start(addr))
	got := rd.Read(from, buf)
	if uint64(got) < addr+8-from { // the stack begins later
		from = addr &^ 0xfff
		got = rd.Read(from, buf)
	}
	return frames.Region{Addr: from, Bytes: buf[:got]}
}

func holds(rs []frames.Region, addr frames.Addr) bool {
	for i := range rs {
		if off := addr - rs[i].Addr; off+otherStackBelow < uint64(len(rs[i].Bytes)) {
			return true
		}
	}
	return false
}
