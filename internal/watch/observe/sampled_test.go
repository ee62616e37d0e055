// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/watch/perfevents"
)

func TestAKernelSampleIsNotCopiedAsTheRawSampleBeforeWas(t *testing.T) {
	pool := NewPool(1)
	s := pool.Get()
	s.Limits = copyLimits{outOfTime: true, fullSampleBytes: 64}
	pool.Put(s)
	r := &perfevents.Record{Stack: make([]byte, 64)}
	r.Regs.Arch = frames.X86_64
	got := New(nil, pool, ModeAuto).FromKernelSample(r)
	if got != s || got.Limits != (copyLimits{}) {
		t.Errorf("the same raw sample %v: %+v", got == s, got.Limits)
	}
}

func TestSampleTakesNoMoreRoomThanItsStack(t *testing.T) {
	pool := NewPool(1)
	o := New(nil, pool, ModeAuto)
	r := &perfevents.Record{Stack: make([]byte, 2<<10), Asked: perfevents.MaxStack}
	r.Regs.Arch = frames.X86_64
	r.Regs.Set(frames.X86_64.SP(), 0x7000)
	s := o.FromKernelSample(r)
	if n := pool.bytesInUse.Load(); n > sampleRoom {
		t.Errorf("%d bytes for %d", n, len(r.Stack))
	}
	if s.Copied() != int64(len(r.Stack)) || s.Mem.StackEnd != 0x7000+uint64(len(r.Stack)) {
		t.Errorf("%d bytes up to %#x", s.Copied(), s.Mem.StackEnd)
	}
}

func TestAThreadIsStoppedWhileItsStackIsTooDeepForSamples(t *testing.T) {
	th := NewThread(1, 1, nil)
	th.SetKernelSampleStack(8 << 10)
	k := th.Feedback()
	for _, c := range []struct {
		tooDeep bool
		used    int
		samples bool
	}{{false, 8 << 10, true}, {true, 8 << 10, false}, {false, 8<<10 + 1, false}, {false, 0, true}} {
		k.copies.hints.tooDeepForSamples, k.copies.hints.size.used = c.tooDeep, c.used
		k.handOver()
		th.takeHints()
		if th.IsKernelSampled() != c.samples || th.IsTooDeepForKernelSamples() == c.samples {
			t.Errorf("%+v: by samples %t, stopped for its depth %t", c, th.IsKernelSampled(), th.IsTooDeepForKernelSamples())
		}
	}
}
