// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/ptrace"
)

// The copy around a place on another stack, in bytes. A -fsplit-stack has several.
const (
	otherBelow = 16 << 10
	otherBytes = 96 << 10
	mostOthers = 4
)

// StackRef is a place on another stack.
type StackRef struct {
	At   frames.Addr // 0 if there is none
	Size int         // bytes to copy, if more than usual
	End  int         // bytes from At to where complete walks ended; 0 if none has
	// Began is set if At is near the end of the thread's first stack. It is copied only while the thread is on another.
	Began bool
}

// otherHints is what to copy of other stacks.
type otherHints struct {
	// Others are places on other stacks.
	Others [mostOthers]StackRef
}

// otherPlaces learns from walks which places on other stacks to copy.
type otherPlaces struct {
	*otherHints
	next    int             // index of the last replaced place
	keepFor int             // walks elsewhere until a place is dropped
	left    [mostOthers]int // of these, still to come; 0 if the place is kept for ever
	gaveUp  bool            // a place was dropped since the last call of missing
}

// update learns from a walk, and reports whether it went to a place that was not copied and is new. Kernel samples have
// one stack only, so they say nothing about others once the walk has left it.
func (k *otherPlaces) update(end walkEnd, w *frames.Walker, s *RawSample) (again bool) {
	k.uses(w)
	if end != endCutOther && end != endOtherStack || s.How == BySample && w.Away() {
		return false
	}
	return k.missing(w.UnreadAddr())
}

// beganBytes covers the outermost frames and the kernel's data beyond them (arguments, environment).
const beganBytes = 24 << 10

func (p *StackRef) bytes() int {
	if p.Size == 0 && p.End > 0 {
		return min(otherBelow+p.End+copyMargin, otherBytes)
	}
	return max(otherBytes, p.Size)
}

// add adds a place, and gives its index. added is set if it is new and there was room. Without room it replaces another
// place.
func (k *otherPlaces) add(addr, size uint64) (at int, added bool) {
	list := &k.Others
	for i := range list {
		switch p := &list[i]; {
		case p.At>>12 == addr>>12:
			p.Size, p.End = int(size), 0
			return i, false
		case p.At == 0:
			*p, k.left[i] = StackRef{At: addr, Size: int(size)}, 0
			return i, true
		}
	}
	k.next = (k.next + 1) % mostOthers
	list[k.next], k.left[k.next] = StackRef{At: addr, Size: int(size)}, 0
	return k.next, false
}

// Number of walks elsewhere in a row after which a place is dropped, unless a complete walk has ended there. It doubles
// if a walk then goes to a place that is missing.
const (
	othersLeast = 64
	othersMost  = 1 << 14
)

// missing adds a place that a walk went to and that was not copied, and reports whether it is new.
func (k *otherPlaces) missing(addr uint64) (added bool) {
	if k.keepFor == 0 || k.gaveUp {
		k.keepFor, k.gaveUp = min(max(2*k.keepFor, othersLeast), othersMost), false
	}
	at, added := k.add(addr, 0)
	k.left[at] = k.keepFor
	return added
}

// uses notes which places a walk was at.
func (k *otherPlaces) uses(w *frames.Walker) {
	switch {
	case k.Others[0].At == 0:
	case w.Left() && !w.Away(): // back again
	case w.Away():
		k.keep(k.endedAt(w.Regs().SP(), w.StopReason().Complete()))
	default:
		k.keep(0)
	}
}

// keep counts a walk, and drops the places that no walk was at for long. used is the set of places of this walk, bit i
// for Others[i].
func (k *otherPlaces) keep(used uint) {
	list, n := &k.Others, 0
	for i := range list {
		left := &k.left[i]
		switch {
		case list[i].At == 0:
			continue
		case *left == 0 || list[i].End > 0: // it is a stack
		case used>>i&1 != 0:
			*left = k.keepFor
		default:
			if *left--; *left == 0 {
				k.gaveUp = true
				continue
			}
		}
		list[n], k.left[n] = list[i], *left
		n++
	}
	clear(list[n:])
}

// endedAt gives the set of places that have sp, and notes where a complete walk ended.
func (k *otherPlaces) endedAt(sp frames.Addr, complete bool) (found uint) {
	for i := range k.Others {
		p := &k.Others[i]
		if p.At == 0 || sp+otherBelow-p.At >= uint64(otherBelow+max(otherBytes, p.Size)) {
			continue
		}
		if found |= 1 << i; complete {
			p.End = max(p.End, int(int64(sp-p.At)), 1)
		}
	}
	return found
}

// extend extends the copy that ends just before addr to n bytes behind addr, and reports whether there is one.
func (k *otherPlaces) extend(addr, n uint64) bool {
	for i := range k.Others {
		if p := &k.Others[i]; p.At != 0 && addr-p.At <= uint64(p.bytes()) {
			p.Size = int(min(addr-p.At+n, deepCopy))
			return true
		}
	}
	return false
}

// otherStacks copies the memory around places on other stacks, in addition to what another Extra copies.
type otherStacks struct {
	inner ptrace.Extra
	addrs [mostOthers]frames.Addr
	bufs  [mostOthers][]byte
	sizes [mostOthers]int
	began [mostOthers]bool
}

// extraOf gives what to copy besides the stack, or nil.
func (c *copier) extraOf(t *Thread) ptrace.Extra {
	places, inner := &t.hints.get().Others, c.withPlan(t, t.Extra)
	if places[0].At == 0 {
		return inner
	}
	c.others.inner = inner
	for i := range places {
		p := &places[i]
		if c.others.addrs[i] = p.At; p.At == 0 {
			continue
		}
		c.others.began[i] = p.Began
		n := p.bytes()
		if len(c.others.bufs[i]) < n {
			c.others.bufs[i] = make([]byte, n)
			touch(c.others.bufs[i])
		}
		c.others.sizes[i] = n
	}
	return &c.others
}

// Prefetch implements [ptrace.Prefetcher].
func (a *otherStacks) Prefetch(regs *frames.Regs) []frames.Region {
	if f, ok := a.inner.(ptrace.Prefetcher); ok {
		return f.Prefetch(regs)
	}
	return nil
}

// StackEnd implements [ptrace.StackEnder].
func (a *otherStacks) StackEnd(regs *frames.Regs, rd *ptrace.Reader) uint64 {
	return stackEnd(a.inner, regs, rd)
}

// Reads implements [ptrace.ManyReads].
func (a *otherStacks) Reads() int { return readsOf(a.inner) }

func readsOf(inner ptrace.Extra) int {
	if m, ok := inner.(ptrace.ManyReads); ok {
		return m.Reads()
	}
	return 0
}

func stackEnd(inner ptrace.Extra, regs *frames.Regs, rd *ptrace.Reader) uint64 {
	if e, ok := inner.(ptrace.StackEnder); ok {
		return e.StackEnd(regs, rd)
	}
	return 0
}

// Regions implements [ptrace.Extra].
func (a *otherStacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := 0
	if a.inner != nil {
		n = a.inner.Regions(regs, rd, out)
	}
	first := n
	for i, addr := range a.addrs {
		if addr == 0 || n == len(out) || holds(out[first:n], addr) || a.began[i] && onFirst(addr, regs.SP()) {
			continue
		}
		if r := read(rd, addr, a.bufs[i][:a.sizes[i]]); len(r.Bytes) > 0 {
			out[n] = r
			n++
		}
	}
	return n
}

// onFirst reports whether sp is on the stack that ends [beganBytes] behind addr.
func onFirst(addr, sp frames.Addr) bool { return addr+beganBytes-sp <= mostCopy }

func read(rd *ptrace.Reader, addr frames.Addr, buf []byte) frames.Region {
	from := max(max(addr, otherBelow)-otherBelow, rd.Start(addr))
	got := rd.Read(from, buf)
	if uint64(got) < addr+8-from { // the stack begins later
		from = addr &^ 0xfff
		got = rd.Read(from, buf)
	}
	return frames.Region{Addr: from, Bytes: buf[:got]}
}

func holds(rs []frames.Region, addr frames.Addr) bool {
	for i := range rs {
		if off := addr - rs[i].Addr; off+otherBelow < uint64(len(rs[i].Bytes)) {
			return true
		}
	}
	return false
}
