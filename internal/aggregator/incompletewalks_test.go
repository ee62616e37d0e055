// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"os/exec"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/handover"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/testtargets"
)

func TestMoreThanOneIncompleteSampleInAHundredLacksOuterFrames(t *testing.T) {
	sample, stopped := &observe.RawSample{How: observe.ByKernelSample}, &observe.RawSample{How: observe.ByStop}
	judged := func(whole, incomplete int) handover.SampleLack {
		p := &processState{SharedProcess: &handover.SharedProcess{}, history: &programHistory{}}
		for range whole {
			p.countWalk(sample, frames.StopRoot, false)
		}
		for range incomplete {
			p.countWalk(sample, frames.StopBadMemory, false)
			p.countWalk(sample, frames.StopStackCut, false) // the next copy is longer
			p.countWalk(stopped, frames.StopNoRule, false)
		}
		return p.SampleLack()
	}
	for _, c := range []struct {
		whole, incomplete int
		want              handover.SampleLack
	}{
		{0, 2, handover.LacksNothing}, {0, 3, handover.LacksOuterFrames}, {7, 3, handover.LacksOuterFrames},
		{8, 3, handover.LacksNothing}, {100, 7, handover.LacksNothing}, {100, 8, handover.LacksOuterFrames},
		{800, 8, handover.LacksNothing}, {2000, 15, handover.LacksNothing},
	} {
		if got := judged(c.whole, c.incomplete); got != c.want {
			t.Errorf("%d incomplete of %d samples: %v, want %v", c.incomplete, c.whole+c.incomplete, got, c.want)
		}
	}
	p := &processState{SharedProcess: &handover.SharedProcess{}, history: &programHistory{}}
	for range 8 {
		p.countWalk(sample, frames.StopStackCut, true) // the cut stack is not the one that the kernel copies
	}
	if p.SampleLack() != handover.LacksOuterFrames {
		t.Errorf("8 samples cut on another stack: %v, want %v", p.SampleLack(), handover.LacksOuterFrames)
	}
}

func TestNextProcessOfAProgramBeginsWithItsSampleLack(t *testing.T) {
	a := &Aggregator{states: newStates()}
	run := func(pid, incomplete int) handover.SampleLack {
		target, err := loadedcode.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		shared := handover.NewSharedProcess(target, true, 0)
		shared.ID = sample.ProcessID(pid)
		if d := shared.TakeTaskDir(); d != nil {
			d.Close()
		}
		a.ApplyKnownProgram(shared)
		before := shared.SampleLack()
		p := a.process(shared)
		for range incomplete {
			p.countWalk(&observe.RawSample{How: observe.ByKernelSample}, frames.StopBadMemory, false)
		}
		return before
	}
	for i, want := range []handover.SampleLack{handover.LacksNothing, handover.LacksNothing, handover.LacksOuterFrames} {
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
	if got := run(other, 0); got != handover.LacksNothing {
		t.Errorf("a process of another program begins with %v, want %v", got, handover.LacksNothing)
	}
	if len(a.histories) != 2 {
		t.Errorf("%d programs are kept, want 2", len(a.histories))
	}
}

func TestIncompleteSamplesOfUntrackedProcessesAreCounted(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "1")
	target, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	ancestor := handover.NewSharedProcess(target, false, 0)
	ancestor.TakeTaskDir().Close()
	var listing loadedcode.MappingList
	if err := listing.Read(pid); err != nil {
		t.Fatal(err)
	}
	file, _ := target.Program()
	own := slices.IndexFunc(listing.Code, func(m loadedcode.MapsLine) bool { return m.Inode == file.Inode })
	ran := &handover.Program{Name: "threads", Maps: slices.Concat(listing.Code[own:], listing.Code[:own])}
	for _, c := range []struct {
		known handover.SampleLack
		stops []frames.StopReason
		want  bool
	}{
		{handover.LacksNothing, []frames.StopReason{frames.StopBadMemory, frames.StopStackCut}, false},
		{handover.LacksNothing, []frames.StopReason{frames.StopBadMemory, frames.StopStackCut, frames.StopStackCut}, true},
		{handover.LacksNothing, slices.Repeat([]frames.StopReason{frames.StopNoRule}, 8), false},
		{handover.LacksOuterFrames, []frames.StopReason{frames.StopRoot}, true},
	} {
		options := Options{Builder: profile.NewBuilder(profile.Meta{}), Images: loadedcode.NewImageCache(0)}
		a := New(options, handover.NewCommon())
		a.histories[file] = &programHistory{lack: c.known}
		for _, stop := range c.stops {
			raw := &observe.RawSample{How: observe.ByKernelSample}
			raw.Regs.Arch = target.Arch
			a.countUntrackedWalk(&handover.Event{Proc: ancestor, Program: ran, RawSample: raw}, stop)
		}
		if got := a.UntrackedLackOuterFrames.Load(); got != c.want {
			t.Errorf("walks %v of a program known to lack %v: lack roots %v, want %v", c.stops, c.known, got, c.want)
		}
	}
}

func TestNextProcessOfAProgramBeginsWithItsDeepestStack(t *testing.T) {
	a := &Aggregator{states: newStates()}
	var copies []int64
	for range 2 {
		pid, _ := testtargets.Threads(t, "sleepers", "1")
		target, err := loadedcode.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		p := handover.NewSharedProcess(target, true, 0)
		p.TakeTaskDir().Close()
		a.ApplyKnownProgram(p)
		copies = append(copies, p.FirstCopy())
		a.histories.historyOf(target).deepestStack = 2 << 20
	}
	if !slices.Equal(copies, []int64{0, 2 << 20}) {
		t.Errorf("first stack copies of the two processes: %d bytes, want 0 and 2 MiB", copies)
	}
}

func TestProgramOfAnUnknownFileDoesNotBeginWithTheStackOfTheOneBefore(t *testing.T) {
	a := &Aggregator{states: newStates()}
	p := a.process(&handover.SharedProcess{Target: ofPID(0).Target})
	p.SetFirstCopy(2 << 20)
	p.renewProgram()
	if n := p.FirstCopy(); n != 0 {
		t.Errorf("the first copy of the new program has %d bytes, want 0: unknown", n)
	}
}
