// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"testing"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func TestProcessThatRunsWithoutSamplesIsStopped(t *testing.T) {
	s := sampling(t, perfevents.ReaderOptions{Freq: 100})
	e := s.Start(newRun(), &rig{}, &target.SamplingOptions{}).(*Engine)
	defer s.Events.Pause()
	p := &process{tracked: &target.Process{}, mode: modeSamples}
	for ran, want := range map[time.Duration]target.SampleLack{
		100e6: target.LacksNothing, 499e6: target.LacksNothing, 500e6: target.LacksSamples,
	} {
		p.tracked = &target.Process{}
		p.tracked.Clock.Now = ran
		if e.modes.checkProcess(p); p.tracked.SampleLack() != want {
			t.Errorf("after %d ms: %v", ran/1e6, p.tracked.SampleLack())
		}
	}
	p.tracked = &target.Process{}
	p.received++
	e.modes.checkProcess(p)
	if p.tracked.SampleLack() != target.LacksNothing || p.ranBefore != p.tracked.Clock.CPUTime() {
		t.Error("a sample is a sign of life")
	}
}

func TestSamplesAreNotGivenUpForTimeInWhichNoneWereTaken(t *testing.T) {
	onRig(t, sampling(t, perfevents.ReaderOptions{Freq: 99}), &target.SamplingOptions{}, func(r *rig) {
		r.tick()
		p := r.procs.all[0]
		for range 3 {
			r.modes.receivedBefore, p.receivedBefore = r.samples.counts.received, p.received
			r.more += 1e12
			p.ranBefore = -1e12
			r.modes.restartSilence(ptrace.Now())
			r.modes.check(ptrace.Now())
		}
		if r.stream.reader == nil || p.tracked.SampleLack() != target.LacksNothing {
			t.Errorf("given up (%s), of its process: %v", r.stream.gaveUp, p.tracked.SampleLack())
		}
	}, "sleepers", "1")
}

func TestSamplesAreNotGivenUpForThoseThatFoundNoRoom(t *testing.T) {
	for _, late := range []bool{true, false} {
		onRig(t, sampling(t, perfevents.ReaderOptions{Freq: 99}), &target.SamplingOptions{}, func(r *rig) {
			r.tick()
			p := r.procs.all[0]
			for range 3 {
				r.modes.receivedBefore, p.receivedBefore, r.modes.checkedAt = r.samples.counts.received, p.received, 0
				r.more += 1e12
				p.ranBefore = -1e12
				now := ptrace.Now()
				if r.stream.drainedAt = now; late {
					r.stream.drainedAt = r.stream.drainedAt.Add(-(r.stream.reader.TimeToFull() + 1))
				}
				if r.DrainAll(now); r.stream.reader == nil {
					break
				}
			}
			if given := r.stream.reader == nil || p.tracked.SampleLack() != target.LacksNothing; given == late {
				t.Errorf("late: %v; given up: %v (%s), of its process: %v", late, given, r.stream.gaveUp, p.tracked.SampleLack())
			}
		}, "sleepers", "1")
	}
}

func TestSamplesAreGivenUpOnlyWhereAllAreSampled(t *testing.T) {
	for _, sampled := range []bool{true, false} {
		onRig(t, sampling(t, perfevents.ReaderOptions{Freq: 99}), &target.SamplingOptions{}, func(r *rig) {
			r.tick()
			p := r.procs.all[0]
			if p.mode != modeSamples {
				t.Fatal("its samples lack something")
			}
			if !sampled {
				r.modes.switchToStops(p)
			}
			for range 3 { // the first one begins to count
				r.modes.receivedBefore = r.samples.counts.received
				r.more += 1e12
				if r.stream.reader != nil {
					r.modes.check(ptrace.Now())
				}
			}
			if gaveUp := r.stream.reader == nil; gaveUp != sampled {
				t.Errorf("sampled: %v; given up: %v (%s)", sampled, gaveUp, r.stream.gaveUp)
			}
		}, "sleepers", "1")
	}
}

func TestNoteNamesProcessesWhoseSamplesAreIncompleteAsTheUserInsists(t *testing.T) {
	onRig(t, sampling(t, perfevents.ReaderOptions{Freq: 99}), &target.SamplingOptions{}, func(r *rig) {
		p := r.procs.all[0]
		note := func(l target.SampleLack) string {
			p.tracked.RaiseLack(l)
			r.tick()
			r.tick()
			var s runstats.Observed
			r.modes.stats(&s)
			return s.FallbackNote
		}
		for _, want := range []struct {
			lack target.SampleLack
			note string
		}{
			{target.LacksNothing, ""},
			{target.LacksStacks, "incomplete samples of 1 Go program, whose threads change stacks " +
				"(--engine auto stops their threads instead)"},
			{target.LacksSamples, "sampled by stops, not by the kernel: 1 process, of which no usable kernel samples came"},
		} {
			if got := note(want.lack); got != want.note {
				t.Errorf("%v: %q, want %q", want.lack, got, want.note)
			}
		}
	}, "sleepers", "1")
}
