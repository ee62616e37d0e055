// SPDX-License-Identifier: Apache-2.0

package look

import (
	"prywalk/frames"
	"prywalk/ptrace"
)

// The piece of another stack that is copied: mostly what is further out. A stack can have several such pieces: one
// that grows in parts (-fsplit-stack) does.
const (
	otherBelow = 16 << 10
	otherBytes = 96 << 10
	mostOthers = 4
)

// StackRef is a place on another stack that a walk was led to.
type StackRef struct {
	At   frames.Addr // 0: none
	Deep int         // how many bytes are copied there, if more than usual
	Far  int         // how far behind At complete walks have ended, in bytes; 0: none has yet
}

// bytes gives the bytes that are to be copied around a place. Nothing is needed beyond the outermost frame there.
func (p *StackRef) bytes() int {
	if p.Deep == 0 && p.Far > 0 {
		return min(otherBelow+p.Far+copyMargin, otherBytes)
	}
	return max(otherBytes, p.Deep)
}

// addOther notes a place, unless it is there, with the bytes to copy. It gives its index, and reports whether there was
// room for it and it is new.
func (k *Walks) addOther(addr, deep uint64) (at int, added bool) {
	list := &k.needs.Others
	for i := range list {
		switch p := &list[i]; {
		case p.At>>12 == addr>>12:
			p.Deep, p.Far = int(deep), 0
			return i, false
		case p.At == 0:
			*p, k.othersLeft[i] = StackRef{At: addr, Deep: int(deep)}, 0
			return i, true
		}
	}
	k.next = (k.next + 1) % mostOthers
	list[k.next], k.othersLeft[k.next] = StackRef{At: addr, Deep: int(deep)}, 0
	return k.next, false
}

// A walk can be led astray, and nothing is where it lacked something. So a place that no complete walk was at is given
// up after so many walks in a row that were not there. If one is given up and another is lacked, that lasts twice as
// long.
const (
	othersLeast = 64
	othersMost  = 1 << 14
)

// lacksOther takes note of a walk that was led to a place. A shot that lacked one of the first places is not
// reused, or a thread that sleeps would show it for as long as it sleeps.
func (k *Walks) lacksOther(addr uint64) {
	if k.othersFor == 0 || k.gaveUp {
		k.othersFor, k.gaveUp = min(max(2*k.othersFor, othersLeast), othersMost), false
	}
	at, added := k.addOther(addr, 0)
	k.othersLeft[at] = k.othersFor
	if added {
		k.needs.Retries++
	}
}

// usesOthers takes note of where a walk has ended, if it was on another stack.
func (k *Walks) usesOthers(w *frames.Walker) {
	switch {
	case k.needs.Others[0].At == 0:
	case w.Left() && !w.Away(): // it is back, and may have been at any
	case w.Away():
		k.keepOthers(k.endedAtOther(w.Regs().SP(), w.StopReason().Complete()))
	default:
		k.keepOthers(0)
	}
}

// keepOthers counts the walks that were not at a place; used is the set of those that one was at. Places that single
// looks have asked for last.
func (k *Walks) keepOthers(used uint) {
	list, n := &k.needs.Others, 0
	for i := range list {
		left := &k.othersLeft[i]
		switch {
		case list[i].At == 0:
			continue
		case *left == 0 || list[i].Far > 0: // complete walks were there: it is a stack
		case used>>i&1 != 0:
			*left = k.othersFor
		default:
			if *left--; *left == 0 {
				k.gaveUp = true
				continue
			}
		}
		list[n], k.othersLeft[n] = list[i], *left
		n++
	}
	clear(list[n:])
}

// endedAtOther takes note of a walk that has ended on another stack, and gives the set of the places that this is at.
func (k *Walks) endedAtOther(sp frames.Addr, complete bool) (found uint) {
	for i := range k.needs.Others {
		p := &k.needs.Others[i]
		if p.At == 0 || sp+otherBelow-p.At >= uint64(otherBelow+max(otherBytes, p.Deep)) {
			continue
		}
		if found |= 1 << i; complete {
			p.Far = max(p.Far, int(int64(sp-p.At)), 1)
		}
	}
	return found
}

// extendOther makes the copy of the place that addr lies just beyond end n bytes behind it; false if there is no
// such place.
func (k *Walks) extendOther(addr, n uint64) bool {
	for i := range k.needs.Others {
		if p := &k.needs.Others[i]; p.At != 0 && addr-p.At <= uint64(p.bytes()) {
			p.Deep = int(min(addr-p.At+n, deepCopy))
			return true
		}
	}
	return false
}

// otherStacks copies the memory around the places of a thread, besides what another Extra copies.
type otherStacks struct {
	inner ptrace.Extra
	addrs [mostOthers]frames.Addr
	bufs  [mostOthers][]byte
	sizes [mostOthers]int
}

// extraOf gives what is to be copied of a thread besides its stack, nil if nothing.
func (l *Looker) extraOf(t *Thread) ptrace.Extra {
	places, inner := &t.needs.get().Others, l.carryOut(t, t.Extra)
	if places[0].At == 0 {
		return inner
	}
	l.others.inner = inner
	for i := range places {
		p := &places[i]
		if l.others.addrs[i] = p.At; p.At == 0 {
			continue
		}
		n := p.bytes()
		if len(l.others.bufs[i]) < n {
			l.others.bufs[i] = make([]byte, n)
			touch(l.others.bufs[i])
		}
		l.others.sizes[i] = n
	}
	return &l.others
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

// readsOf asks another Extra how often it reads; 0: as often as is usual.
func readsOf(inner ptrace.Extra) int {
	if m, ok := inner.(ptrace.ManyReads); ok {
		return m.Reads()
	}
	return 0
}

// stackEnd asks what another Extra knows.
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
		if addr == 0 || n == len(out) || holds(out[first:n], addr) {
			continue
		}
		if r := read(rd, addr, a.bufs[i][:a.sizes[i]]); len(r.Bytes) > 0 {
			out[n] = r
			n++
		}
	}
	return n
}

// read copies what there is around an address.
func read(rd *ptrace.Reader, addr frames.Addr, buf []byte) frames.Region {
	from := max(max(addr, otherBelow)-otherBelow, rd.Start(addr))
	got := rd.Read(from, buf)
	if uint64(got) < addr+8-from { // the stack begins later, maybe above the end of another one
		from = addr &^ 0xfff
		got = rd.Read(from, buf)
	}
	return frames.Region{Addr: from, Bytes: buf[:got]}
}

// holds reports whether one of the pieces has the word at addr, and some beyond.
func holds(rs []frames.Region, addr frames.Addr) bool {
	for i := range rs {
		if off := addr - rs[i].Addr; off+otherBelow < uint64(len(rs[i].Bytes)) {
			return true
		}
	}
	return false
}
