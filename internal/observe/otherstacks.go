// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/observe/copysize"
	"prywalk/ptrace"
)

type otherStacks struct {
	ptrace.Wrapped
	places *[copysize.MaxOtherStacks]copysize.OtherStack
	bufs   [copysize.MaxOtherStacks][]byte // of at least CopyBytes of each place
}

// Regions implements [ptrace.OtherMemory].
func (o *otherStacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := o.InnerRegions(regs, rd, out)
	first := n
	for i := range o.places {
		place := &o.places[i]
		if place.At == 0 || n == len(out) {
			continue
		}
		buf := o.bufs[i][:place.CopyBytes()]
		r, ok := readLinkedStack(rd, place, out[:n], buf)
		if !ok && !holdsStackAt(out[first:n], place.At) && !(place.FirstStack && onFirstStack(place.At, regs.SP())) {
			r = readOtherStack(rd, place.At, buf)
		}
		if len(r.Bytes) > 0 {
			out[n] = r
			n++
		}
	}
	return n
}

// readLinkedStack reads the stack to which a link leads now. It returns false if it leads to none that can be read, and
// no bytes if these are copied.
func readLinkedStack(rd *ptrace.Reader, place *copysize.OtherStack, copied []frames.Region, buf []byte) (
	r frames.Region, ok bool,
) {
	if place.Link.At == 0 {
		return r, false
	}
	stack := frames.Snapshot{Others: copied}
	stack.Stack.Addr, _ = rd.Stack()
	stack.Stack.Bytes = rd.StackBytes()
	word, ok := stack.Word(place.Link.At)
	if !ok {
		word, ok = rd.Word(place.Link.At)
	}
	at := word + uint64(place.Link.Off)
	if !ok || at%8 != 0 || at < copysize.LinkBelow {
		return r, false
	}
	if _, ok := stack.Word(at); ok {
		return r, true
	}
	from := max(at-copysize.LinkBelow, rd.MappingStart(at))
	if place.Root > at && place.Root+copysize.Margin-from < uint64(len(buf)) {
		buf = buf[:place.Root+copysize.Margin-from]
	}
	n := rd.Read(from, buf)
	return frames.Region{Addr: from, Bytes: buf[:n]}, n > 0
}

func onFirstStack(addr, sp frames.Addr) bool {
	return addr+copysize.FirstStackBytes-sp <= copysize.MaxUsual
}

func readOtherStack(rd *ptrace.Reader, addr frames.Addr, buf []byte) frames.Region {
	from := max(max(addr, copysize.OtherStackBelow)-copysize.OtherStackBelow, rd.MappingStart(addr))
	got := rd.Read(from, buf)
	if uint64(got) < addr+8-from { // the stack begins later
		from = addr &^ 0xfff
		got = rd.Read(from, buf)
	}
	return frames.Region{Addr: from, Bytes: buf[:got]}
}

func holdsStackAt(rs []frames.Region, addr frames.Addr) bool {
	for i := range rs {
		if off := addr - rs[i].Addr; off+copysize.OtherStackBelow < uint64(len(rs[i].Bytes)) {
			return true
		}
	}
	return false
}
