// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"prywalk/internal/observe"
	"prywalk/internal/waits"
)

// withLockMemory copies what Inner does, then a lock's memory.
type withLockMemory struct {
	observe.MemoryRegion
	buf [waits.CopySize]byte
}

func newWithLockMemory(inner observe.OtherMemory) *withLockMemory {
	b := &withLockMemory{}
	b.Inner, b.Bytes = inner, b.buf[:]
	return b
}

func (b *withLockMemory) copyIn(s *observe.RawSample) waits.WordCopy {
	for i := range s.Mem.Others {
		if r := &s.Mem.Others[i]; r.Addr == b.Addr && len(r.Bytes) <= waits.CopySize {
			return cloneWordCopy(waits.WordCopy{Addr: r.Addr, Bytes: r.Bytes})
		}
	}
	return waits.WordCopy{}
}
