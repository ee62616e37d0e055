// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"testing"
	"time"

	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func TestManySamplesOfAThreadAreHandedOverWithinATick(t *testing.T) {
	onRig(t, sampling(t, perfevents.ReaderOptions{Freq: 997}), &target.SamplingOptions{}, func(r *rig) {
		r.tick()
		begun, want := r.of.Clock.Now, int64(3*clocksAfterSamples)
		for r.shared.EngineSamples < want {
			if r.ReadClocks(0); r.of.Clock.Now-begun > time.Duration(30*uint64(want))*r.stream.reader.Period() {
				t.Fatalf("%d samples were handed over in %d ns of the target's CPU time, want %d",
					r.shared.EngineSamples, r.of.Clock.Now-begun, want)
			}
			r.stream.drainedAt = 1
			r.DrainIfDue()
		}
		if r.samples.counts.dropped != 0 {
			t.Errorf("%d samples were dropped", r.samples.counts.dropped)
		}
	}, "burners", "1")
}

func TestSamplesAreDroppedWhileTooManyCopiesAreInUse(t *testing.T) {
	onRig(t, sampling(t, perfevents.ReaderOptions{Freq: 997}), &target.SamplingOptions{}, func(r *rig) {
		r.tick()
		receive := func() (dropped int64) {
			before := *r.samples.counts
			for r.samples.counts.received < before.received+3 {
				r.stream.drainedAt = 1
				r.DrainIfDue()
			}
			return r.samples.counts.dropped - before.dropped
		}
		stack := make([]byte, 1<<20)
		for r.shared.Pool.BytesInUse() < maxCopies/2 {
			r.shared.Observer.FromKernelSample(&perfevents.Record{Stack: stack})
		}
		if n := receive(); n != 0 {
			t.Errorf("%d samples were dropped at half of the bound", n)
		}
		for r.shared.Pool.BytesInUse() <= maxCopies {
			r.shared.Observer.FromKernelSample(&perfevents.Record{Stack: stack})
		}
		if n := receive(); n == 0 {
			t.Error("no sample was dropped beyond the bound")
		}
	}, "burners", "1")
}

func TestSamplesOfFirstThreadsWaitForTheNextTick(t *testing.T) {
	onRig(t, sampling(t, perfevents.ReaderOptions{Freq: 97}), &target.SamplingOptions{}, func(r *rig) {
		r.tick()
		p := r.procs.sampledByPID[r.of.Code.PID]
		for tid, th := range p.threads {
			th.unplaced = append(th.unplaced, r.shared.Observer.FromKernelSample(&perfevents.Record{Time: ptrace.Now()}))
			r.samples.clocksDue = append(r.samples.clocksDue, th)
			r.samples.readClocks(ptrace.Now())
			if first := tid == r.of.Code.PID; (len(th.unplaced) > 0) != first {
				t.Errorf("first thread: %t, %d samples wait", first, len(th.unplaced))
			}
		}
		r.tick()
		if first := p.threads[r.of.Code.PID]; first == nil || len(first.unplaced) != 0 {
			t.Error("the first thread's sample waits after a tick")
		}
	}, "sleepers", "1")
}
