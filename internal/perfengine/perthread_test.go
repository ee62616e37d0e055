// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"math"
	"strings"
	"testing"

	"prywalk/internal/engine"
	"prywalk/internal/observe"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

func samplingPerThread(t *testing.T, freq float64) *Source {
	t.Helper()
	if err := perfevents.TryPerThread(); err != nil {
		t.Skip(err)
	}
	r, err := perfevents.OpenPerThread(perfevents.Options{Freq: freq})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return &Source{Events: r}
}

func TestAThreadThatAStopFoundRunningIsSampled(t *testing.T) {
	s := samplingPerThread(t, 499)
	onRig(t, s, engine.Options{}, func(r *rig) {
		for r.EngineSamples < 20 {
			if r.tick(); r.perThread.refused > 0 {
				t.Error("the kernel refuses samples of a thread that it gave before")
				return
			}
		}
		for _, th := range r.procs.all[0].threads {
			f, sampled := th.events, th.Observed.IsKernelSampled()
			if f.open != 0 && f.open != r.stream.reader.Events() || f.open == 0 && !f.stopped && sampled {
				t.Errorf("thread %d has %d events, sampled: %v", th.Observed.TID, f.open, sampled)
			}
		}
		if r.stopped == 0 {
			t.Error("samples came of a thread that no stop had found")
		}
	}, "burners", "1")
	if n := s.Events.OpenThreads(); n != 0 {
		t.Errorf("%d threads are still followed", n)
	}
}

func TestSleepersAreNotSampled(t *testing.T) {
	onRig(t, samplingPerThread(t, 499), engine.Options{}, func(r *rig) {
		for range 5 {
			r.tick()
		}
		if n := r.stream.reader.OpenThreads(); n > r.stopped { // one may not have slept yet
			t.Errorf("%d are followed, %d were stopped", n, r.stopped)
		}
	}, "sleepers", "3")
}

func TestAThreadThatMayNotBeSampledAnyMoreIsStopped(t *testing.T) {
	onRig(t, samplingPerThread(t, 499), engine.Options{}, func(r *rig) {
		r.tick()
		th := r.procs.all[0].threads[r.of.Target.PID]
		r.perThread.end(th)
		tid, unfollowed := th.Observed.TID, r.perThread.refused
		th.Observed.TID = math.MaxInt32
		for range 3 {
			r.perThread.stopFoundRunning(th, &observe.RawSample{How: observe.ByStop, State: sample.Running})
		}
		th.Observed.TID = tid
		f := th.events
		if r.perThread.refused != unfollowed+1 || !f.stopped || f.open != 0 || th.Observed.IsKernelSampled() {
			t.Errorf("%d refused; %+v, sampled: %v", r.perThread.refused-unfollowed, f, th.Observed.IsKernelSampled())
		}
		if note := r.perThread.note(); !strings.Contains(note, "gives no samples") {
			t.Errorf("%q", note)
		}
		for range 3 {
			if r.tick(); th.Observed.IsKernelSampled() {
				t.Error("it is sampled all the same")
			}
		}
	}, "sleepers", "1")
}

// A twentieth may be missing, of 200 periods or more.
func TestThreadsInTheKernelAreStopped(t *testing.T) {
	o := samplingPerThread(t, 100)
	for _, v := range []struct {
		periods, received, inconclusive, inKernel int64 // of 10 ms each, as the clock tick
		followed, again                           bool
	}{
		{comparedAfter - 1, 0, 0, comparedAfter, true, false},
		{comparedAfter, 190, 0, comparedAfter, true, true},
		{comparedAfter, 189, 0, 12, false, false},
		{comparedAfter, 189, 0, 11, true, false}, // elsewhere, by the kernel's account
		{comparedAfter, 10, 0, 0, true, false},   // buffers ran over
		{comparedAfter, 0, 0, 0, true, false},
		{2 * comparedAfter, 0, 1, 0, false, false},     // the kernel takes no samples
		{2*comparedAfter - 1, 10, 1, 200, true, false}, // compared after twice the time
		{2 * comparedAfter, 10, 1, 22, false, false},
		{maxInconclusive * comparedAfter, 10, maxInconclusive - 1, 0, true, true},
		{comparedAfter, 230, 0, 0, true, true}, // the clock runs while another system has the CPU
		{10 * comparedAfter, 1899, 0, 102, false, false},
	} {
		onRig(t, o, engine.Options{}, func(r *rig) {
			r.tick()
			th := r.procs.all[0].threads[r.of.Target.PID]
			r.Files.Take(1)
			var st procmem.Stat
			if err := th.Observed.Files().Stat(&st); err != nil {
				t.Fatal(err)
			}
			th.events = threadEvents{
				open: 1, received: v.received, inconclusive: v.inconclusive, kernelFrom: st.STime - uint64(v.inKernel),
			}
			th.lastReading = sample.Reading{CPU: v.periods * r.stream.reader.Period()}
			r.perThread.stopIfSamplesLack(th)
			if f := th.events; (f.open == 1) != v.followed || f.stopped == v.followed || (f.cpuFrom > 0) != v.again {
				t.Errorf("%+v: %+v", v, f)
			}
			th.lastReading = sample.Reading{}
		}, "sleepers", "1")
	}
}
