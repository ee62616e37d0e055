// SPDX-License-Identifier: Apache-2.0

package pace

import "testing"

func TestManySampledSleepersAreBackedOffForAsLongAsTheySlept(t *testing.T) {
	for _, c := range []struct {
		name             string
		threads          int
		sampled, ran     bool
		factor, share    int64
		collectorsBursts int64 // of threads that had run before, ns in each of five seconds
		firstRuns        int64 // of threads that had not
		nextFactor       int64 // of the next one of these, without samples
	}{
		{"sampled", 2000, true, false, maxFactor, notRunShare, 0, 0, maxFactor},
		{"sampled, and has run", 2000, true, true, maxFactor, sleepShare, 0, 0, maxFactor},
		{"one of few", 50, true, false, 1, sleepShare, 0, 0, maxFactor},
		{"not sampled by the kernel", 2000, false, false, 1, sleepShare, 0, 0, maxFactor},
		{"a collector runs now and then", 2000, false, false, 1, sleepShare, 30e6, 0, maxFactor},
		{"those that slept run", 2000, false, false, 1, sleepShare, 0, 30e6, 1},
	} {
		p := NewProcessState[int](0)
		th := &ThreadState[int]{Observed: &observation{kernelSampled: c.sampled}}
		p.Add(th)
		policy := NewPolicy[int](1)
		policy.NoteChanged(th)
		if c.ran {
			policy.NoteChanged(th)
		}
		if factor, share := th.backoffLimits(c.threads); factor != c.factor || share != c.share || th.HasRun() != c.ran {
			t.Errorf("%s: %d times one part in %d, has run: %v", c.name, factor, share, th.HasRun())
		}
		for i := range int64(6) {
			p.haveRun.backedOffCPU += c.collectorsBursts
			p.notRunYet.backedOffCPU += c.firstRuns
			p.SetClock((i+1)*1e9, uint64((i+1)*1e9), true)
		}
		th = &ThreadState[int]{Observed: &observation{}, proc: p}
		if got := th.sharedFactor().factor(); got != c.nextFactor {
			t.Errorf("%s: one that has not run may be backed off %d times as long, want %d", c.name, got, c.nextFactor)
		}
	}
}

func TestSearchIsDueWhileCPUTimeIsUnexplained(t *testing.T) {
	policy, p := NewPolicy[int](1), NewProcessState[int](0)
	p.backedOff = 2
	policy.BeginTick(1, 1e9, 10e6)
	p.SetClock(1e9, 50e6, true)
	if !policy.SearchDue(p) {
		t.Fatal("50 ms are not explained, and no thread ran")
	}
	p.explainedCPU = 50e6
	if policy.Unexplained(p) {
		t.Error("all is explained, and more are observed")
	}
	policy.SearchEnded(p, 1000)
	p.explainedCPU = 0
	policy.BeginTick(2, 1e9+10e6, 10e6)
	if p.SetClock(1e9+10e6, 50e6, true); policy.SearchDue(p) {
		t.Error("it is asked again at once")
	}
	policy.BeginTick(3, 2e9, 10e6)
	if p.SetClock(2e9, 50e6, true); !policy.SearchDue(p) || !policy.Unexplained(p) {
		t.Error("no search is due any more")
	}
	if policy.AllObserved(p); policy.Unexplained(p) {
		t.Error("all were observed, and something is not explained")
	}
}
