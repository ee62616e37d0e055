// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"os/exec"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

func TestMoreThanOneIncompleteSampleInAHundredLacksOuterFrames(t *testing.T) {
	sample, stopped := &observe.RawSample{How: observe.ByKernelSample}, &observe.RawSample{How: observe.ByStop}
	judged := func(whole, incomplete int) target.SampleLack {
		p := &processState{process: &target.Process{}, history: &programHistory{}}
		for range whole {
			p.countWalk(sample, frames.StopRoot)
		}
		for range incomplete {
			p.countWalk(sample, frames.StopBadMemory)
			p.countWalk(sample, frames.StopDepth) // the user's limit
			p.countWalk(stopped, frames.StopNoRule)
		}
		return p.process.SampleLack()
	}
	for _, c := range []struct {
		whole, incomplete int
		want              target.SampleLack
	}{
		{0, 2, target.LacksNothing}, {0, 3, target.LacksOuterFrames}, {7, 3, target.LacksOuterFrames},
		{8, 3, target.LacksNothing}, {100, 7, target.LacksNothing}, {100, 8, target.LacksOuterFrames},
		{800, 8, target.LacksNothing}, {2000, 15, target.LacksNothing},
	} {
		if got := judged(c.whole, c.incomplete); got != c.want {
			t.Errorf("%d incomplete of %d samples: %v, want %v", c.incomplete, c.whole+c.incomplete, got, c.want)
		}
	}
	p := &processState{process: &target.Process{}, history: &programHistory{}}
	for range 8 {
		p.countWalk(sample, frames.StopStackCut)
	}
	if p.process.SampleLack() != target.LacksOuterFrames {
		t.Errorf("8 samples cut on another stack: %v, want %v", p.process.SampleLack(), target.LacksOuterFrames)
	}
}

func TestNextProcessOfAProgramBeginsWithItsSampleLack(t *testing.T) {
	a := &Aggregator{states: newStates()}
	run := func(pid, incomplete int) target.SampleLack {
		opened, err := loadedcode.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		shared := target.NewProcess(opened, true, 0)
		shared.ID = sample.ProcessID(pid)
		if d := shared.TaskDir; d != nil {
			d.Close()
		}
		a.ApplyKnownProgram(shared)
		before := shared.SampleLack()
		p := a.states.process(shared)
		for range incomplete {
			p.countWalk(&observe.RawSample{How: observe.ByKernelSample}, frames.StopBadMemory)
		}
		return before
	}
	for i, want := range []target.SampleLack{target.LacksNothing, target.LacksNothing, target.LacksOuterFrames} {
		pid, _ := testtargets.Threads(t, "sleepers", "1")
		if got := run(pid, fewIncomplete-1); got != want {
			t.Errorf("process %d begins with %v, want %v", i, got, want)
		}
	}
	other := testtargets.Child(t, exec.Command("sleep", "1000")).Process.Pid
	testtargets.Eventually(t, "it has called exec", func() bool {
		var name procmem.Comm
		return procmem.ReadComm(other, &name) == nil && name.String() == "sleep"
	})
	if got := run(other, 0); got != target.LacksNothing {
		t.Errorf("a process of another program begins with %v, want %v", got, target.LacksNothing)
	}
	if len(a.states.histories) != 2 {
		t.Errorf("%d programs are kept, want 2", len(a.states.histories))
	}
}

func TestNextProcessOfAProgramBeginsWithItsDeepestStack(t *testing.T) {
	a := &Aggregator{states: newStates()}
	var copies []int64
	for range 2 {
		pid, _ := testtargets.Threads(t, "sleepers", "1")
		opened, err := loadedcode.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		p := target.NewProcess(opened, true, 0)
		p.TaskDir.Close()
		a.ApplyKnownProgram(p)
		copies = append(copies, p.FirstCopy())
		a.states.histories.historyOf(opened).deepestStack = 2 << 20
	}
	if !slices.Equal(copies, []int64{0, 2 << 20}) {
		t.Errorf("first stack copies of the two processes: %d bytes, want 0 and 2 MiB", copies)
	}
}

func TestProgramOfAnUnknownFileDoesNotBeginWithTheStackOfTheOneBefore(t *testing.T) {
	a := &Aggregator{states: newStates()}
	p := a.states.process(&target.Process{Code: ofPID(0).process.Code})
	p.process.SetFirstCopy(2 << 20)
	a.states.renewProgram(p)
	if n := p.process.FirstCopy(); n != 0 {
		t.Errorf("the first copy of the new program has %d bytes, want 0: unknown", n)
	}
}

// The first copy has room for the deepest complete stack of a first thread on its own stack.
func TestOnlyCompleteStacksOfFirstThreadsAreTheDeepest(t *testing.T) {
	var space frames.Space
	space.SetModules([]*frames.Module{{Start: 0x10000, End: 0x20000, Name: "m", Sources: []frames.RuleSource{calls{}}}})
	const depth, before = 8, 100
	for _, c := range []struct {
		what       string
		tid, depth int
		stackEnd   uint64 // beyond the innermost frame
		deeper     bool
	}{
		{"the first thread", 7, depth, 64 * depth, true},
		{"another thread", 8, depth, 64 * depth, false},
		{"an incomplete stack", 7, 0, 64 * depth, false},
		{"frames beyond the stack", 7, depth, 64, false},
	} {
		p := ofPID(7)
		p.history.deepestStack = before
		s := deepSample(depth)
		s.Mem.StackEnd = s.Mem.Stack.Addr + c.stackEnd
		s.Mem.Stack.Bytes = s.Mem.Stack.Bytes[:64*c.depth]
		var w frames.Walker
		for w.Init(&space, &s.Regs, &s.Mem); w.Next(); {
		}
		p.history.rememberDeepest(&target.Thread{Proc: p.process, TID: c.tid}, s, &w)
		want := int64(before)
		if c.deeper {
			want = int64(w.HighestSP()-s.Mem.Stack.Addr) + walkBeyond
		}
		if got := p.history.deepestStack; got != want {
			t.Errorf("%s: the deepest stack has %d bytes, want %d", c.what, got, want)
		}
		p.history.deepestStack = 1 << 30
		if p.history.rememberDeepest(&target.Thread{Proc: p.process, TID: c.tid}, s, &w); p.history.deepestStack != 1<<30 {
			t.Errorf("%s: a deeper one is forgotten", c.what)
		}
	}
}
