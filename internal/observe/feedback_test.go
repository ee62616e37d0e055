// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/observe/copying"
	"prywalk/ptrace"
)

func TestAThreadChangesStacksWhereItsKnownEndIsAnother(t *testing.T) {
	const from, depth = 1 << 30, 60 << 10
	raw := func(deep, known bool, tailAt frames.Addr) *RawSample {
		stack := frames.Region{Addr: from, Bytes: make([]byte, depth+copying.Margin)}
		s := &RawSample{Mem: frames.Snapshot{Stack: stack}}
		s.TailAt = tailAt
		req, stop := &ptrace.Request{}, &ptrace.Stop{}
		stop.InLarger = deep
		if known {
			req.CopyEnd = from + depth
		}
		s.setLimit(req, stop)
		return s
	}
	for _, c := range []struct {
		name  string
		s     *RawSample
		reach frames.Addr
		want  bool
	}{
		{"the end that was known", raw(true, true, 0), from + depth, false},
		{"nearly that", raw(true, true, 0), from + depth - 64, false},
		{"another one", raw(true, true, 0), from + depth/2, true},
		{"another one, and there was room", raw(false, true, 0), from + depth/2, false},
		{"the end of a mapping", raw(true, false, 0), from + depth/2, false},
		{"before what was left out", raw(false, true, from+depth+8<<10), from + depth/2, true},
		{"behind it", raw(false, true, from+depth+8<<10), from + depth + 16<<10, false},
	} {
		if got := c.reach <= c.s.NotRoot; got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestSamplesAfterAMisleadingOutlineAreWalkedSoon(t *testing.T) {
	o, th := New(nil, NewPool(1), ModeAlwaysStop), NewThread(1, 1, nil)
	k := th.Feedback()
	readsAgain := func() bool {
		o.takeHints(th)
		s := &RawSample{}
		o.copier.prepareBuffers(th, s)
		o.copier.keepCopy(th, s, &ptrace.Request{}, &ptrace.Stop{})
		return s.OutlineFailed()
	}
	k.copies.Outline = &copying.Outline{}
	if k.handOver(); readsAgain() {
		t.Error("an outline that was not followed yet has misled")
	}
	k.copies.Outline, k.copies.LastOutlineWasCut = nil, true
	if k.handOver(); !readsAgain() {
		t.Error("observations without an outline wait for walks")
	}
	k.copies.Outline, k.copies.LastOutlineWasCut = &copying.Outline{}, false
	if k.handOver(); readsAgain() {
		t.Error("a new one has misled")
	}
}

type noCalls struct{}

func (noCalls) CallBefore(frames.Addr) (frames.Call, bool)         { return frames.Call{}, false }
func (noCalls) FuncStart(frames.Addr) (start frames.Addr, ok bool) { return 0x1000, true }

func TestASearchBeyondTheStacksEndDoesNotMakeCopiesLarger(t *testing.T) {
	const from, root = 1 << 30, 1<<30 + 4<<10
	space := frames.NewSpace(frames.X86_64)
	space.SetModules([]*frames.Module{{Start: 0x1000, End: 0x2000, Calls: noCalls{}}})
	o, th := New(nil, NewPool(1), ModeAlwaysStop), NewThread(1, 1, nil)
	k := th.Feedback()
	k.copies.Root, k.copies.ToEnd = root, false
	k.copies.CopyEnd, k.copies.Used = root+copying.Margin, root-from
	k.handOver()
	copied := func() int {
		o.takeHints(th)
		s := &RawSample{}
		o.copier.prepareBuffers(th, s)
		return int(min(th.hints().CopyEnd-from, uint64(len(s.buffers.stack))))
	}
	before := copied()
	if before != root-from+copying.Margin {
		t.Fatalf("%d bytes at first", before)
	}
	search := func(n int, how How) *frames.Walker {
		s := &RawSample{How: how, buffers: sampleBuffers{stack: make([]byte, copying.MinWhole)}}
		s.Limit = copying.LimitCopyEnd
		s.Mem = frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: s.buffers.stack[:n]}, StackEnd: from + 1<<20}
		s.Regs = frames.Regs{Arch: frames.X86_64, PC: 0x1010}
		s.Regs.Set(frames.X86RSP, from+copying.RedZone)
		s.Regs.Set(frames.X86RBP, 0)
		var w frames.Walker
		for w.Init(space, &s.Regs, &s.Mem); w.Next(); {
			continue
		}
		if w.StopReason() != frames.StopStackCut || !w.ScanWasCut() {
			t.Fatalf("the walk of %d bytes ended with %v", n, w.StopReason())
		}
		k.Walked(nil, &w, s, &copying.WalkedFrames{})
		return &w
	}
	for range 3 {
		search(before, ByStop)
		if n := copied(); n != before || k.reads.Retries != 0 || k.copies.Outline != nil {
			t.Fatalf("%d bytes, %d before; %+v", n, before, k.hints())
		}
	}
	k.copies.Root = from + 64<<10
	if search(before, ByStop); k.reads.Retries == 0 || k.copies.CopyEnd != 0 {
		t.Errorf("a copy that ended before the stack did was enough: %+v", k.hints())
	}
}

func TestTheFirstSampleCopiesWhatWasLearnedOfTheProgram(t *testing.T) {
	for _, c := range []struct{ learned, want int64 }{
		{0, copying.First}, {4 << 10, copying.First}, {2 << 20, 2 << 20}, {1 << 40, copying.MaxUsual},
	} {
		th := NewThread(1, 1, nil)
		if th.SetFirstCopy(c.learned); int64(th.hints().Bytes) != c.want || !th.hints().ToEnd {
			t.Errorf("%d bytes were used: %d are copied, want %d", c.learned, th.hints().Bytes, c.want)
		}
	}
}
