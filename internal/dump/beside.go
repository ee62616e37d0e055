// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"prywalk/frames"
	"prywalk/internal/look"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

// beside copies the memory of a lock in the look at a thread, besides what another Extra copies.
type beside struct {
	inner ptrace.Extra
	addr  uint64 // 0: nothing
	buf   [waits.Around]byte
}

// Regions implements [ptrace.Extra].
func (b *beside) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := 0
	if b.inner != nil {
		n = b.inner.Regions(regs, rd, out)
	}
	if b.addr == 0 || n == len(out) {
		return n
	}
	got := rd.Read(b.addr, b.buf[:])
	out[n] = frames.Region{Addr: b.addr, Bytes: b.buf[:got]}
	return n + 1
}

// Prefetch implements [ptrace.Prefetcher].
func (b *beside) Prefetch(regs *frames.Regs) []frames.Region {
	if f, ok := b.inner.(ptrace.Prefetcher); ok {
		return f.Prefetch(regs)
	}
	return nil
}

// StackEnd implements [ptrace.StackEnder].
func (b *beside) StackEnd(regs *frames.Regs, rd *ptrace.Reader) uint64 {
	if e, ok := b.inner.(ptrace.StackEnder); ok {
		return e.StackEnd(regs, rd)
	}
	return 0
}

// copyIn finds the lock's memory in a shot.
func (b *beside) copyIn(s *look.Shot) waits.Copy {
	for i := range s.Mem.Others {
		if r := &s.Mem.Others[i]; r.Addr == b.addr && len(r.Bytes) <= waits.Around {
			return copyOf(waits.Copy{Addr: r.Addr, Bytes: r.Bytes})
		}
	}
	return waits.Copy{}
}
