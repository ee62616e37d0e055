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
func (e *ExtraRegion) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := 0
	if e.Inner != nil {
		n = e.Inner.Regions(regs, rd, out)
	}
	if e.Addr == 0 || n == len(out) {
		return n
	}
	got := rd.Read(e.Addr, e.Bytes)
	out[n] = frames.Region{Addr: e.Addr, Bytes: e.Bytes[:got]}
	return n + 1
}

// Prefetch implements [ptrace.Prefetcher].
func (e *ExtraRegion) Prefetch(regs *frames.Regs) []frames.Region {
	if f, ok := e.Inner.(ptrace.Prefetcher); ok {
		return f.Prefetch(regs)
	}
	return nil
}

// StackEnd implements [ptrace.StackEnder].
func (e *ExtraRegion) StackEnd(regs *frames.Regs, rd *ptrace.Reader) uint64 {
	if e, ok := e.Inner.(ptrace.StackEnder); ok {
		return e.StackEnd(regs, rd)
	}
	return 0
}
