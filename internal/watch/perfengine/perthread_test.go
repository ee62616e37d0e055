// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"math"
	"os"
	"testing"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func samplingPerThread(t *testing.T, freq float64) *Source {
	t.Helper()
	if err := perfevents.TryPerThread(); err != nil {
		t.Skipf("needs perf events of own processes: kernel.perf_event_paranoid 2 or less (%v)", err)
	}
	r, err := perfevents.OpenPerThread(perfevents.ReaderOptions{Freq: freq})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return &Source{Events: r}
}

func TestAThreadThatRunsIsSampledWithoutAStop(t *testing.T) {
	s := samplingPerThread(t, 499)
	onRig(t, s, &target.SamplingOptions{}, func(r *rig) {
		for r.shared.EngineSamples < 20 {
			if r.tick(); perThreadOf(r).refused > 0 {
				t.Error("the kernel refuses samples of a thread that it gave before")
				return
			}
		}
		for _, th := range r.procs.all[0].threads {
			if n := th.events.files; n != 0 && n != r.stream.reader.ThreadFiles() || !th.tracked.Observed.IsKernelSampled() {
				t.Errorf("thread %d has %d events, sampled: %v", th.tracked.Observed.ID.TID, n,
					th.tracked.Observed.IsKernelSampled())
			}
		}
	}, "burners", "1")
	if n := s.Events.OpenThreads(); n != 0 {
		t.Errorf("%d threads still have events", n)
	}
}

func perThreadOf(r *rig) *perThread { return r.scope.(*perThread) }

func TestSleepersHaveNoEvents(t *testing.T) {
	onRig(t, samplingPerThread(t, 499), &target.SamplingOptions{}, func(r *rig) {
		r.tick()
		first := map[int]uint64{}
		for tid, th := range r.procs.all[0].threads {
			first[tid] = th.tracked.Observed.LastClocks().CPU
		}
		for range 4 {
			r.tick()
		}
		ran := 0
		for tid, th := range r.procs.all[0].threads {
			if th.tracked.Observed.LastClocks().CPU > first[tid] {
				ran++
			}
		}
		if n := r.stream.reader.OpenThreads(); n > ran { // one may not have slept yet
			t.Errorf("%d have events, %d have run", n, ran)
		}
	}, "sleepers", "3")
}

// firstThread returns the main thread, whose clocks were read.
func firstThread(r *rig) *thread {
	r.tick()
	th := r.procs.all[0].threads[r.of.Code.PID]
	th.lastReading = procmem.ReadingAt(th.tracked.Observed.LastClocks(), int64(ptrace.Now()))
	return th
}

func TestAThreadThatCannotBeSampledIsStopped(t *testing.T) {
	for _, c := range []struct {
		prevent func(*rig, *thread)
		note    string
	}{
		{func(_ *rig, th *thread) { th.tracked.Observed.ID.TID = math.MaxInt32 },
			"stopped, as the kernel gives no or too few samples: 1 thread"},
		{func(r *rig, _ *thread) {
			for r.shared.Files.Take(1) {
			}
		}, "stopped, as too few file descriptors are left for samples (ulimit -n): 1 thread"},
	} {
		onRig(t, samplingPerThread(t, 499), &target.SamplingOptions{}, func(r *rig) {
			th, p := firstThread(r), perThreadOf(r)
			p.end(th)
			tid := th.tracked.Observed.ID.TID
			c.prevent(r, th)
			for range 3 {
				p.foundRunning(th)
			}
			th.tracked.Observed.ID.TID = tid
			if f := th.events; !f.left || f.open || th.tracked.Observed.IsKernelSampled() {
				t.Errorf("%+v, sampled: %v", f, th.tracked.Observed.IsKernelSampled())
			}
			p.opened = 0
			if note := p.note(); p.samplesAny() || note != c.note {
				t.Errorf("%q lacks %q", note, c.note)
			}
		}, "sleepers", "1")
	}
}

// The time in the kernel is what the CPU time exceeds the samples by; a period and a half are permitted on one CPU.
func TestTimeInTheKernelIsWhatSamplesOfUserSpaceLeaveOut(t *testing.T) {
	onRig(t, samplingPerThread(t, 100), &target.SamplingOptions{}, func(r *rig) {
		th, p := firstThread(r), perThreadOf(r)
		p.end(th)
		p.foundRunning(th)
		th.tracked.ExemptFromStops(1 << 20)
		from := th.lastReading
		th.events.whole = true // no other period within the test
		permitted := r.stream.reader.ThreadPeriod(th.tracked.Observed.ID.TID) * time.Duration(r.stream.reader.CPUs()+2) / 2
		read := func(cpu time.Duration) {
			now := sample.Reading{Wall: int64(time.Duration(from.Wall) + cpu), CPU: int64(time.Duration(from.CPU) + cpu)}
			p.clocksRead(th, th.lastReading, now)
			th.lastReading = now
		}
		take := func() int64 {
			var raw observe.RawSample
			p.complete(th, &raw)
			return raw.KernelTime
		}
		read(permitted)
		if got := take(); got != 0 {
			t.Errorf("%d ns within the error", got)
		}
		read(permitted + 5e6)
		p.sampled(th, 3e6)
		read(permitted + 10e6)
		if got := take(); got != 7e6 {
			t.Errorf("%d ns, want 7 ms", got)
		}
		p.sampled(th, 20e6) // samples that come late take nothing back
		read(permitted + 12e6)
		if got := take(); got != 0 {
			t.Errorf("%d ns after late samples", got)
		}
		read(permitted + 31e6)
		if got := take(); got != 31e6-23e6-7e6 {
			t.Errorf("%d ns later, want 1 ms", got)
		}
		th.events.lost-- // a sample was lost: the count begins again
		read(permitted + 500e6)
		read(permitted + 500e6 + permitted)
		if got := take(); got != 0 {
			t.Errorf("%d ns of a time with lost samples", got)
		}
	}, "sleepers", "1")
}

// 400 ms without a sample: at least 100 ms must be in the kernel by its own account, 10 ms of which may be late.
func TestAThreadWithTooFewSamplesIsStopped(t *testing.T) {
	const found = 400e6
	for _, c := range []struct {
		inKernel uint64 // clock ticks
		left     bool
	}{{0, true}, {8, true}, {9, false}, {40, false}} {
		onRig(t, samplingPerThread(t, 100), &target.SamplingOptions{}, func(r *rig) {
			th, p := firstThread(r), perThreadOf(r)
			p.end(th)
			p.foundRunning(th)
			var st procmem.Stat
			if err := th.tracked.Observed.Files().Stat(&st); err != nil {
				t.Fatal(err)
			}
			th.events.whole, th.events.stimeFrom = true, st.STime-c.inKernel
			cpu := th.events.cpuFrom
			p.clocksRead(th, sample.Reading{CPU: int64(cpu)}, sample.Reading{CPU: int64(cpu + found)})
			if th.events.left != c.left || th.tracked.Observed.IsKernelSampled() == c.left {
				t.Errorf("%d ticks in the kernel: %+v", c.inKernel, th.events)
			}
		}, "sleepers", "1")
	}
}

func TestAStopFollowsTimeInTheKernel(t *testing.T) {
	onRig(t, samplingPerThread(t, 100), &target.SamplingOptions{}, func(r *rig) {
		th, p := firstThread(r), perThreadOf(r)
		p.end(th)
		p.foundRunning(th)
		period, now := r.stream.reader.Period(), ptrace.Now()
		tick := func(after time.Duration) (stopped bool) {
			now = now.Add(after)
			p.beforeObservation(th, now)
			if th.tracked.Observed.StopsThoughSampled() {
				p.complete(th, &observe.RawSample{How: observe.ByStop, State: sample.Running, At: now})
				return true
			}
			return false
		}
		if tick(0) {
			t.Error("a stop without time in the kernel")
		}
		th.events.allFound = probeAfter * period
		if !tick(0) || tick(10*probeEvery) {
			t.Error("not one stop for two periods")
		}
		th.events.allFound += 100 * period
		if !tick(0) || tick(probeEvery-1) {
			t.Error("not one stop in 0.2 s")
		}
		th.tracked.ExemptFromStops(0)
		if th.events.allFound += 100 * period; tick(10 * probeEvery) {
			t.Error("a stop of a thread that is stopped anyway")
		}
	}, "sleepers", "1")
}

// A stop in a system call takes all time in the kernel, unless most of that is elsewhere, as in page faults.
func TestAStopInASystemCallTakesTheTimeInTheKernel(t *testing.T) {
	stop := func(atCallEnd bool, cpu uint64) *observe.RawSample {
		return &observe.RawSample{
			How: observe.ByStop, State: sample.Running, Stayed: true, AtCallEnd: atCallEnd, Sched: procmem.SchedStat{CPU: cpu},
		}
	}
	p := &perThread{}
	th := &thread{events: threadEvents{open: true, countCPU: 100e6, allFound: 50e6}}
	for i, c := range []struct {
		atCallEnd bool
		want      int64
	}{{true, math.MaxInt64}, {false, 0}, {false, 0}, {true, math.MaxInt64}, {false, 0}, {false, 0}, {false, 0}, {false, 0},
		{false, 0}, {false, 0}, {false, 0}, {false, 0}, {true, 7e6}} {
		raw := stop(c.atCallEnd, uint64(i+1)*7e6)
		if p.complete(th, raw); raw.CallTime != c.want {
			t.Errorf("stop %d takes %d ns, want %d", i, raw.CallTime, c.want)
		}
	}
}

// A command's threads keep the first period: after the first samples each n-th counts for n.
func TestACommandsThreadsAreSampledAtTheRateAsked(t *testing.T) {
	s := samplingPerThread(t, 99)
	s.BeforeLaunch(os.Getpid())
	if !s.Events.PerThread() {
		t.Error("children are sampled that are not followed")
	}
	s.children = true
	if s.BeforeLaunch(os.Getpid()); s.Events.PerThread() || !s.FromStart() {
		t.Fatal("no samples of commands")
	}
	p := &perThread{reader: s.Events}
	th, period := &thread{}, s.Events.Period()/8
	if got := p.sampled(th, period); got != period || th.events.inUser != period {
		t.Errorf("a first sample stands for %d ns, want %d", got, period)
	}
	th.events = threadEvents{whole: true}
	kept, sum := 0, time.Duration(0)
	for range 800 {
		if got := p.sampled(th, period); got != 0 {
			kept++
			sum += got
		}
	}
	if kept != 100 || sum != 800*period || th.events.inUser != sum {
		t.Errorf("%d of 800 samples stand for %d ns, want 100 for %d (in user space %d)", kept, sum, 800*period,
			th.events.inUser)
	}
}

func TestANewThreadOfACommandIsNotStopped(t *testing.T) {
	s := samplingPerThread(t, 99)
	s.children = true
	s.BeforeLaunch(os.Getpid())
	shared := newRun()
	e := newEngine(shared, &rig{}, &target.SamplingOptions{Children: true}, s)
	e.begin()
	proc := &process{tracked: &target.Process{}, engine: e, mode: modeSamples}
	raw := &observe.RawSample{At: 5}
	e.unassigned.keep(proc, 7, raw)
	th := &thread{proc: proc, tracked: &target.Thread{Observed: observe.NewThread(1, 7, nil), FromZero: true}}
	e.scope.begin(th)
	if !th.tracked.Observed.IsKernelSampled() || len(th.unplaced) != 1 {
		t.Errorf("sampled: %v, with %d samples from before", th.tracked.Observed.IsKernelSampled(), len(th.unplaced))
	}
	if !e.childSamples.enabled() {
		t.Error("children have no samples")
	}
}
