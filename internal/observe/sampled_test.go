// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/perfevents"
)

func TestAKernelSampleIsNotCopiedAsTheRawSampleBeforeWas(t *testing.T) {
	pool := NewPool(1)
	s := pool.Get()
	s.copyShape = copyShape{outline: &outline{}, outlineFailed: true, limit: limitTime, tailAt: 0x1000, notRoot: 0x1000}
	pool.Put(s)
	r := &perfevents.Record{Stack: make([]byte, 64)}
	r.Regs.Arch = frames.X86_64
	if got := New(nil, pool, ModeAuto).FromSample(r); got != s || got.copyShape != (copyShape{}) || got.OutlineFailed() {
		t.Errorf("the same raw sample %v: %+v", got == s, got.copyShape)
	}
}

// Of 62 KiB asked for, 2 are copied; the limit of waiting samples counts what is used.
func TestSampleTakesNoMoreRoomThanItsStack(t *testing.T) {
	pool := NewPool(1)
	l := New(nil, pool, ModeAuto)
	r := &perfevents.Record{Stack: make([]byte, 2<<10), Asked: perfevents.MostStack, Longest: true}
	r.Regs.Arch = frames.X86_64
	r.Regs.Set(frames.X86_64.SP(), 0x7000)
	s := l.FromSample(r)
	if n := pool.bytesOut.Load(); n > sampleRoom {
		t.Errorf("%d bytes for %d", n, len(r.Stack))
	}
	if s.Copied() != int64(len(r.Stack)) || s.Mem.StackEnd != 0x7000+uint64(len(r.Stack)) || !s.Longest() {
		t.Errorf("%d bytes up to %#x", s.Copied(), s.Mem.StackEnd)
	}
}
