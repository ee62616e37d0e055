// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/observe/copysize"
	"prywalk/ptrace"
)

type otherStacks struct {
	ptrace.Wrapped
	addrs      [copysize.MaxOtherStacks]frames.Addr
	bufs       [copysize.MaxOtherStacks][]byte
	sizes      [copysize.MaxOtherStacks]int
	firstStack [copysize.MaxOtherStacks]bool
}

// Regions implements [ptrace.OtherMemory].
func (o *otherStacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := o.InnerRegions(regs, rd, out)
	first := n
	for i, addr := range o.addrs {
		if addr == 0 || n == len(out) || holdsStackAt(out[first:n], addr) ||
			o.firstStack[i] && onFirstStack(addr, regs.SP()) {
			continue
		}
		if r := readOtherStack(rd, addr, o.bufs[i][:o.sizes[i]]); len(r.Bytes) > 0 {
			out[n] = r
			n++
		}
	}
	return n
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
