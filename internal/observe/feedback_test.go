// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/frames"
	"prywalk/ptrace"
)

func TestTopThatAWalkPassedIsNotSetAgain(t *testing.T) {
	k := NewThread(1, 1, nil).Feedback()
	n := &k.hints
	k.size.setTop(1 << 20)
	k.size.setSize(1000, minCopy, false, false)
	if n.Top != 1<<20+copyMargin {
		t.Errorf("top %#x", n.Top)
	}
	if again := k.size.setSize(2000, minCopy, true, true); !again || n.Top != 0 || n.Bytes != minCopy {
		t.Errorf("%+v", n)
	}
	k.size.setTop(2 << 20)
	if n.Top != 0 {
		t.Error("set again, though the stack goes on there")
	}
	k.size.setSize(2000, minCopy, true, true)
	if n.Bytes != 4*minCopy {
		t.Errorf("%d bytes after a copy that was too short", n.Bytes)
	}
}

func TestSamplesThatAreWalkedTogetherAskForTheSame(t *testing.T) {
	k := NewThread(1, 1, nil).Feedback()
	for range 4 {
		k.size.setSize(minCopy, minCopy, true, false)
	}
	if got := k.hints.Bytes; got != 4*minCopy {
		t.Errorf("%d bytes after four copies of %d that were too short", got, minCopy)
	}
	k.size.setSize(4*minCopy, 4*minCopy, true, false)
	if got := k.hints.Bytes; got != 16*minCopy {
		t.Errorf("%d bytes after one of four times as many", got)
	}
}

func TestTopIsKeptIfTheCopyDidNotGoUpToIt(t *testing.T) {
	k := NewThread(1, 1, nil).Feedback()
	k.size.setTop(1 << 20)
	k.size.setSize(2000, minCopy, true, false)
	if n := k.hints; n.Top != 1<<20+copyMargin || n.Bytes != 4*minCopy {
		t.Errorf("%+v", n)
	}
}

func TestACopyAfterOneThatWasTooShortGoesToTheEnd(t *testing.T) {
	const from, root, end = 1 << 30, 1<<30 + 700<<10, 1<<30 + 710<<10
	s := &RawSample{copiedMemory: copiedMemory{Mem: frames.Snapshot{Stack: frames.Region{Addr: from}, StackEnd: end}}}
	k := NewThread(1, 1, nil).Feedback()
	if got := k.size.sizeToEnd(s); got != end-from {
		t.Errorf("%d bytes to the end of the mapping", got)
	}
	if k.hints.Root = root; k.size.sizeToEnd(s) != root-from {
		t.Errorf("%d bytes to where the stack has ended", k.size.sizeToEnd(s))
	}
	if k.hints.Changing = true; k.size.sizeToEnd(s) != end-from {
		t.Errorf("%d bytes where that was another stack", k.size.sizeToEnd(s))
	}
	k.hints.Root, s.Mem.StackEnd = 0, from+maxCopy
	if got := k.size.sizeToEnd(s); got != 0 {
		t.Errorf("%d bytes to an end that is far", got)
	}
}

func TestAThreadChangesStacksWhereItsKnownEndIsAnother(t *testing.T) {
	const from, depth = 1 << 30, 60 << 10
	raw := func(deep, known bool, tailAt frames.Addr) *RawSample {
		stack := frames.Region{Addr: from, Bytes: make([]byte, depth+copyMargin)}
		s := &RawSample{copiedMemory: copiedMemory{Mem: frames.Snapshot{Stack: stack}}}
		s.tailAt = tailAt
		req, stop := &ptrace.Request{}, &ptrace.Stop{}
		stop.InLarger = deep
		if known {
			req.Top = from + depth
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
		if got := c.reach <= c.s.notRoot; got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestSamplesAfterAMisleadingOutlineAreWalkedSoon(t *testing.T) {
	l, th := New(nil, NewPool(1), ModeAlwaysStop), NewThread(1, 1, nil)
	k := th.Feedback()
	tracee := func() bool {
		l.takeHints(th)
		s := &RawSample{}
		l.prepareBuffers(th, s)
		l.pieces.noChain = false
		l.keepCopy(th, s, &ptrace.Request{}, &ptrace.Stop{})
		return s.OutlineFailed()
	}
	k.hints.outline = &outline{sizes: &frameSizes{}}
	if k.handOver(); tracee() {
		t.Error("an outline that was not followed yet has misled")
	}
	k.hints.outline, k.hints.outlineMisled = nil, true
	if k.handOver(); !tracee() {
		t.Error("observations without an outline wait for walks")
	}
	k.hints.outline, k.hints.outlineMisled = &outline{sizes: &frameSizes{}}, false
	if k.handOver(); tracee() {
		t.Error("a new one has misled")
	}
}

func TestTopIsSetAgainByACompleteWalkThatEndsThere(t *testing.T) {
	k := NewThread(1, 1, nil).Feedback()
	n := &k.hints
	for i := range maxPassed + 1 {
		k.size.setTop(1 << 20)
		if n.Top != 1<<20+copyMargin {
			t.Fatalf("top %#x after it was passed %d times", n.Top, i)
		}
		k.size.setSize(2000, minCopy, true, true)
		if n.Top != 0 {
			t.Fatalf("top %#x after a copy that ended there and was too short", n.Top)
		}
	}
	if k.size.setTop(1 << 20); n.Top != 0 {
		t.Errorf("top %#x after it was passed %d times", n.Top, maxPassed+1)
	}
}

type noCalls struct{}

func (noCalls) CallBefore(frames.Addr) (frames.Call, bool)         { return frames.Call{}, false }
func (noCalls) FuncStart(frames.Addr) (start frames.Addr, ok bool) { return 0x1000, true }

// Unknown assembly is innermost, and the scan passes the end of the stack.
func TestASearchBeyondTheStacksEndDoesNotMakeCopiesLarger(t *testing.T) {
	const from, root = 1 << 30, 1<<30 + 4<<10
	space := frames.NewSpace(frames.X86_64)
	space.SetModules([]*frames.Module{{Start: 0x1000, End: 0x2000, Calls: noCalls{}}})
	l, th := New(nil, NewPool(1), ModeAlwaysStop), NewThread(1, 1, nil)
	k := th.Feedback()
	k.hints.Root, k.hints.ToEnd = root, false
	k.size.setTop(root)
	k.size.setSize(root-from, minCopy, false, true)
	k.handOver()
	copied := func() int {
		l.takeHints(th)
		s := &RawSample{}
		l.prepareBuffers(th, s)
		return int(min(th.hints.get().Top-from, uint64(len(s.buf))))
	}
	before := copied()
	if before != root-from+copyMargin {
		t.Fatalf("%d bytes at first", before)
	}
	search := func(n int, how How) *frames.Walker {
		s := &RawSample{How: how, copiedMemory: copiedMemory{buf: make([]byte, minCopy)}}
		s.limit = limitTop
		s.Mem = frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: s.buf[:n]}, StackEnd: from + 1<<20}
		s.Regs = frames.Regs{Arch: frames.X86_64, PC: 0x1010}
		s.Regs.Set(frames.X86RSP, from+redZone)
		s.Regs.Set(frames.X86RBP, 0)
		var w frames.Walker
		for w.Init(space, &s.Regs, &s.Mem); w.Next(); {
			continue
		}
		if w.StopReason() != frames.StopStackCut || !w.ScanWasCut() {
			t.Fatalf("the walk of %d bytes ended with %v", n, w.StopReason())
		}
		k.Walked(nil, &w, s, &WalkedFrames{})
		return &w
	}
	for range 3 {
		search(before, ByStop)
		if n := copied(); n != before || k.hints.Retries != 0 || k.size.topInvalid || k.hints.outline != nil {
			t.Fatalf("%d bytes, %d before; %+v", n, before, k.hints)
		}
	}
	k.hints.Root = from + 64<<10
	if search(before, ByStop); k.hints.Retries == 0 || k.hints.Top != 0 {
		t.Errorf("a copy that ended before the stack did was enough: %+v", k.hints)
	}
}

func TestSamplesWithFurtherRegionsCopyNoMoreInAll(t *testing.T) {
	for _, e := range []struct{ bytes, regions, used, want int }{
		{minCopy, 0, 1000, minCopy},
		{minCopy, 20 << 10, 1000, minCopy - 20<<10 - copyMargin},
		{minCopy, 60 << 10, 1000, topCopy},
		{minCopy, 60 << 10, 20 << 10, 40<<10 + copyMargin},
		{minCopy, 60 << 10, 60 << 10, minCopy},
		{minCopy + 1, 60 << 10, 1000, minCopy + 1},
	} {
		n := sizeHints{Bytes: e.bytes, Used: e.used}
		if got := n.stackToReserve(e.regions); got != e.want {
			t.Errorf("%+v: %d bytes", e, got)
		}
	}
}

func TestTheFirstSampleCopiesWhatWasLearnedOfTheProgram(t *testing.T) {
	for _, c := range []struct{ learned, want int64 }{
		{0, firstCopy}, {4 << 10, firstCopy}, {2 << 20, 2 << 20}, {1 << 40, maxCopy},
	} {
		th := NewThread(1, 1, nil)
		if th.SetFirstCopy(c.learned); int64(th.hints.get().Bytes) != c.want || !th.hints.get().ToEnd {
			t.Errorf("%d bytes were used: %d are copied, want %d", c.learned, th.hints.get().Bytes, c.want)
		}
	}
}
