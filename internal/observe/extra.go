// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/ptrace"
)

// Extra copies memory besides the stack in a stop.
type Extra = ptrace.Extra

// Wrapped is embedded in an [Extra] that extends Inner, which may be nil.
type Wrapped struct{ Inner Extra }

func (w Wrapped) regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	if w.Inner == nil {
		return 0
	}
	return w.Inner.Regions(regs, rd, out)
}

// Prefetch implements [ptrace.Prefetcher].
func (w Wrapped) Prefetch(regs *frames.Regs) []frames.Region {
	if f, ok := w.Inner.(ptrace.Prefetcher); ok {
		return f.Prefetch(regs)
	}
	return nil
}

// StackEnd implements [ptrace.StackEnder].
func (w Wrapped) StackEnd(regs *frames.Regs, rd *ptrace.Reader) uint64 {
	if e, ok := w.Inner.(ptrace.StackEnder); ok {
		return e.StackEnd(regs, rd)
	}
	return 0
}

// Reads implements [ptrace.ManyReads].
func (w Wrapped) Reads() int { return readsOf(w.Inner) }

func readsOf(e Extra) int {
	if m, ok := e.(ptrace.ManyReads); ok {
		return m.Reads()
	}
	return 0
}

// ExtraRegion copies the memory at one address.
type ExtraRegion struct {
	Wrapped
	Addr  uint64 // 0 if there is none
	Bytes []byte // buffer of the copy
}

// Regions implements [ptrace.Extra].
func (e *ExtraRegion) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := e.regions(regs, rd, out)
	if e.Addr == 0 || n == len(out) {
		return n
	}
	got := rd.Read(e.Addr, e.Bytes)
	out[n] = frames.Region{Addr: e.Addr, Bytes: e.Bytes[:got]}
	return n + 1
}
