package look

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/ptrace"
)

// The piece of another stack that is copied: mostly what is further out. A stack can have several such pieces: one that
// grows in parts (-fsplit-stack) does.
const (
	alsoBelow = 16 << 10
	alsoBytes = 96 << 10
	maxAlso   = 4
)

// alsoPlaces are the places on other stacks that walks of a thread were led to.
type alsoPlaces struct {
	at   [maxAlso]atomic.Uint64 // 0: none
	more [maxAlso]atomic.Int64  // how many bytes are copied there, if more than alsoBytes
	next atomic.Uint32          // the one that is given up for a further one
}

// add notes a place, unless it is there, with the bytes to copy; it reports whether there was room for it.
func (a *alsoPlaces) add(addr, more uint64) bool {
	for i := range a.at {
		switch old := a.at[i].Load(); {
		case old>>12 == addr>>12:
			a.more[i].Store(int64(more))
			return false
		case old == 0:
			a.more[i].Store(int64(more))
			a.at[i].Store(addr)
			return true
		}
	}
	i := a.next.Add(1) % maxAlso
	a.more[i].Store(int64(more))
	a.at[i].Store(addr)
	return false
}

// extend makes the copy of the place that addr lies just beyond end n bytes behind it; false if there is no such place.
func (a *alsoPlaces) extend(addr, n uint64) bool {
	for i := range a.at {
		if at := a.at[i].Load(); at != 0 && addr-at <= uint64(a.size(i)) {
			a.more[i].Store(int64(min(addr-at+n, deepCopy)))
			return true
		}
	}
	return false
}

// size gives the bytes that are to be copied around a place.
func (a *alsoPlaces) size(i int) int { return max(alsoBytes, int(a.more[i].Load())) }

// alsoStack copies the memory around the places of a thread, besides what another Extra copies.
type alsoStack struct {
	inner ptrace.Extra
	addrs [maxAlso]frames.Addr
	bufs  [maxAlso][]byte
	sizes [maxAlso]int
}

// extraOf gives what is to be copied of a thread besides its stack, nil if nothing.
func (l *Looker) extraOf(t *Thread) ptrace.Extra {
	if t.also.at[0].Load() == 0 {
		return t.Extra
	}
	l.also.inner = t.Extra
	for i := range t.also.at {
		addr := t.also.at[i].Load()
		if l.also.addrs[i] = addr; addr == 0 {
			continue
		}
		n := t.also.size(i)
		if len(l.also.bufs[i]) < n {
			l.also.bufs[i] = make([]byte, n)
		}
		l.also.sizes[i] = n
	}
	return &l.also
}

// Foresee implements [ptrace.Foreseer].
func (a *alsoStack) Foresee(regs *frames.Regs) []frames.Region {
	if f, ok := a.inner.(ptrace.Foreseer); ok {
		return f.Foresee(regs)
	}
	return nil
}

// StackEnd implements [ptrace.StackEnder].
func (a *alsoStack) StackEnd(regs *frames.Regs) uint64 { return stackEnd(a.inner, regs) }

// stackEnd asks what another Extra knows.
func stackEnd(inner ptrace.Extra, regs *frames.Regs) uint64 {
	if e, ok := inner.(ptrace.StackEnder); ok {
		return e.StackEnd(regs)
	}
	return 0
}

// Regions implements [ptrace.Extra].
func (a *alsoStack) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
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
	from := max(max(addr, alsoBelow)-alsoBelow, rd.Start(addr))
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
		if off := addr - rs[i].Addr; off+alsoBelow < uint64(len(rs[i].Bytes)) {
			return true
		}
	}
	return false
}
