// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/ptrace"
)

// Extra copies memory besides the stack while a thread is stopped.
type Extra = ptrace.Extra

// ExtraRegion copies the memory at one address, in addition to what Inner copies. Inner may be nil.
type ExtraRegion struct {
	Inner Extra
	Addr  uint64 // 0 if there is none
	Bytes []byte // takes the copy
}

// Regions implements [ptrace.Extra].
func (b *ExtraRegion) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := 0
	if b.Inner != nil {
		n = b.Inner.Regions(regs, rd, out)
	}
	if b.Addr == 0 || n == len(out) {
		return n
	}
	got := rd.Read(b.Addr, b.Bytes)
	out[n] = frames.Region{Addr: b.Addr, Bytes: b.Bytes[:got]}
	return n + 1
}

// Prefetch implements [ptrace.Prefetcher].
func (b *ExtraRegion) Prefetch(regs *frames.Regs) []frames.Region {
	if f, ok := b.Inner.(ptrace.Prefetcher); ok {
		return f.Prefetch(regs)
	}
	return nil
}

// StackEnd implements [ptrace.StackEnder].
func (b *ExtraRegion) StackEnd(regs *frames.Regs, rd *ptrace.Reader) uint64 {
	if e, ok := b.Inner.(ptrace.StackEnder); ok {
		return e.StackEnd(regs, rd)
	}
	return 0
}
