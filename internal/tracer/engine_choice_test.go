// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"testing"

	"prywalk/internal/procmem"

	"prywalk/internal/handover"
	"prywalk/internal/perfevents"
	"prywalk/internal/runstats"
)

// TestProcessThatRunsUnsampledIsPtraces: others have samples.
func TestProcessThatRunsUnsampledIsPtraces(t *testing.T) {
	r, err := perfevents.Open(perfevents.Options{Freq: 100})
	if errors.Is(err, perfevents.ErrDenied) || errors.Is(err, perfevents.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := &Tracer{opts: Options{Choose: true, Events: r}}
	c.observe(r)
	defer r.Pause()
	p := &process{shared: &handover.Process{}, sampled: true}
	for ran, want := range map[uint64]handover.Lack{
		100e6: handover.LacksNothing, 499e6: handover.LacksNothing, 500e6: handover.LacksSamples,
	} {
		p.shared.ForgetLack()
		p.clock.now = ran
		if c.checkSamplesOf(p); p.shared.Lack() != want {
			t.Errorf("after %d ms: %v", ran/1e6, p.shared.Lack())
		}
	}
	p.shared.ForgetLack()
	p.heard++
	if c.checkSamplesOf(p); p.shared.Lack() != handover.LacksNothing || p.ranUnheard != p.clock.ran() {
		t.Error("a sample is a sign of life")
	}
}

// TestSamplesAreNotGivenUpForTimeInWhichNobodyWasSampled: as when the sampler was held.
func TestSamplesAreNotGivenUpForTimeInWhichNobodyWasSampled(t *testing.T) {
	onTicksOf(t, sampling(t, 99), func(tick func(), c *Tracer) {
		tick()
		k, p := &c.samples, c.procs[0]
		for range 3 {
			k.heardOf, p.heardOf = k.heard, p.heard
			c.ranGone += 1e12
			p.ranUnheard = -1e12
			c.heardNobody(procmem.Now())
			c.checkSamples(procmem.Now())
		}
		if k.reader == nil || p.shared.Lack() != handover.LacksNothing {
			t.Errorf("given up (%s), of its process: %v", k.gaveUp, p.shared.Lack())
		}
	}, "sleepers", "1")
}

// TestSamplesAreNotGivenUpForThoseThatFoundNoRoom: on a machine with too much to do prywalk waits for a processor for
// longer than the kernel's buffers have room. Those of the targets can be the ones that are lost.
func TestSamplesAreNotGivenUpForThoseThatFoundNoRoom(t *testing.T) {
	for _, late := range []bool{true, false} {
		onTicksOf(t, sampling(t, 99), func(tick func(), c *Tracer) {
			tick()
			k, p := &c.samples, c.procs[0]
			for range 3 {
				k.heardOf, p.heardOf, k.checked = k.heard, p.heard, 0
				c.ranGone += 1e12
				p.ranUnheard = -1e12
				now := procmem.Now()
				if k.drained = now; late {
					k.drained -= k.reader.Room() + 1
				}
				if c.takeSamples(now); k.reader == nil {
					break
				}
			}
			if given := k.reader == nil || p.shared.Lack() != handover.LacksNothing; given == late {
				t.Errorf("late: %v; given up: %v (%s), of its process: %v", late, given, k.gaveUp, p.shared.Lack())
			}
		}, "sleepers", "1")
	}
}

// TestSamplesAreGivenUpOnlyWhereAllAreSampled: of a process that ptrace looks at no samples come, however much it runs.
func TestSamplesAreGivenUpOnlyWhereAllAreSampled(t *testing.T) {
	for _, sampled := range []bool{true, false} {
		onTicksOf(t, sampling(t, 99), func(tick func(), c *Tracer) {
			tick()
			k, p := &c.samples, c.procs[0]
			if !p.sampled {
				t.Fatal("its samples lack something")
			}
			if !sampled {
				c.stopSampling(p)
			}
			for range 3 { // the first one begins to count
				k.heardOf = k.heard
				c.ranGone += 1e12
				if k.reader != nil {
					c.checkSamples(procmem.Now())
				}
			}
			if gaveUp := k.reader == nil; gaveUp != sampled {
				t.Errorf("sampled: %v; given up: %v (%s)", sampled, gaveUp, k.gaveUp)
			}
		}, "sleepers", "1")
	}
}

// TestNoteNamesProcessesWhoseSamplesAreIncompleteAsTheUserInsists: with the remedy. Once ptrace looks at one it is not
// named so any more.
func TestNoteNamesProcessesWhoseSamplesAreIncompleteAsTheUserInsists(t *testing.T) {
	onTicksOf(t, sampling(t, 99), func(tick func(), c *Tracer) {
		p := c.procs[0]
		note := func(l handover.Lack) string {
			p.shared.Lacks(l)
			tick()
			tick()
			var s runstats.Observed
			c.samples.stats(&s, &c.counts)
			return s.EngineNote
		}
		for _, want := range []struct {
			lack handover.Lack
			note string
		}{
			{handover.LacksNothing, ""},
			{handover.LacksStacks, "incomplete samples of 1 process with stacks in several places " +
				"(--engine auto stops their threads instead)"},
			{handover.LacksSamples, "by stopping threads: 1 process of which no samples came"},
		} {
			if got := note(want.lack); got != want.note {
				t.Errorf("%v: %q, want %q", want.lack, got, want.note)
			}
		}
	}, "sleepers", "1")
}
