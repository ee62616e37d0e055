// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"errors"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/perfengine"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
)

func sampling(t *testing.T, freq float64) target.SamplingOptions {
	t.Helper()
	r, err := perfevents.Open(perfevents.ReaderOptions{Freq: freq})
	needEvents(t, err)
	t.Cleanup(r.Close)
	return target.SamplingOptions{Freq: freq, Engine: &perfengine.Source{Events: r}}
}

func needEvents(t *testing.T, err error) {
	t.Helper()
	testtargets.Need(t, !errors.Is(err, perfevents.ErrDenied) && !errors.Is(err, perfevents.ErrUnsupported),
		"kernel samples", "root, or kernel.perf_event_paranoid 0, on a kernel with perf events")
	if err != nil {
		t.Fatal(err)
	}
}

func events(o *target.SamplingOptions) *perfevents.Reader { return source(o).Events }

func source(o *target.SamplingOptions) *perfengine.Source { return o.Engine.(*perfengine.Source) }

const maxLossyRuns = 20

func TestSampledThreadsAreNotStoppedAndTheirTimeIsTheKernels(t *testing.T) {
	started := start(t, "burners", "2")
	for try := 1; ; try++ {
		lost := sampledOnly(t, started)
		if lost == 0 {
			return
		}
		t.Logf("%d samples were lost in recording %d", lost, try)
		if try == maxLossyRuns {
			t.Fatal("no recording has all samples")
		}
	}
}

func sampledOnly(t *testing.T, started *running) (lost int64) {
	t.Helper()
	r := record(t, sampling(t, 199), 0, func(s *Sampler) {
		await(t, "threads are sampled", func() bool { return s.Progress().Stacks >= 100 })
	}, started.pid)
	if r.Stops != 0 || r.KernelSampled < 50 || r.Engine != "perf" {
		t.Errorf("%d stops, %d sampled, engine %s", r.Stops, r.KernelSampled, r.Engine)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	r.checkBurnt(t)
	return r.LostSamples
}

func TestEachTickAndThreadIsAccountedForWithTheKernelsSamples(t *testing.T) {
	started := start(t, "sleepers", "3")
	allAsleep(t, started.pid) // a running thread is left to the kernel's samples, and is not counted
	r := record(t, sampling(t, 999), time.Second, nil, started.pid)
	if got := r.Attempted + r.LeftToLaterTick + r.Inferred + r.RanInBackoff; got != r.Ticks*r.ThreadsMax {
		t.Errorf("%d observations and ticks of back-offs of %d threads at %d ticks", got, r.ThreadsMax, r.Ticks)
	}
}

func TestThreadsThatRunOnAndOnKeepTheirTime(t *testing.T) {
	started := start(t, "burners", "1")
	r := record(t, sampling(t, 999), 3*time.Second, func(s *Sampler) {
		await(t, "threads are sampled", func() bool { return s.Progress().Tracer.Sampled >= 100 })
	}, started.pid)
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	r.checkBurnt(t)
}

func TestStatisticalSharesOfThreadsThatTheKernelSamplesShortly(t *testing.T) {
	exe, err := testtargets.Compile("phases.c")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "2000", "2", "600")
	testtargets.Ready(t, cmd)
	worth := func(r *recorded) float64 {
		_, samples := r.inPhases(map[string]float64{})
		return samples
	}
	r := recordUntil(t, sampling(t, 99), func(r *recorded) bool { return worth(r) >= 500 }, cmd.Process.Pid)
	phases := map[string]float64{}
	inPhases, samples := r.inPhases(phases)
	checkPhases(t, phases, inPhases, samples)
	if r.Stops != 0 || r.UnassignedSamples == 0 {
		t.Errorf("%d stops, %d samples of threads that had ended", r.Stops, r.UnassignedSamples)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}

func TestPtraceTakesOverWhereSamplesStopComing(t *testing.T) {
	started := start(t, "burners", "2")
	o := sampling(t, 199)
	r := record(t, o, 0, func(s *Sampler) {
		await(t, "threads are sampled", func() bool { return s.Progress().Stacks >= 20 })
		events(&o).Pause()
		stopped(t, s, 50)
	}, started.pid)
	if r.Engine != "perf, then ptrace" || r.FallbackNote == "" || r.Stops == 0 || r.KernelSampled == 0 {
		t.Errorf("engine %q (%s), %d stops, %d sampled", r.Engine, r.FallbackNote, r.Stops, r.KernelSampled)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}

// deepWalks counts the walks of stops of one running thread, whose depth stays. From the first whole one on, the tracer
// knows how much to copy: a walk is whole, unless its stop had taken its time before, as on a busy machine.
type deepWalks struct {
	walks, whole, late atomic.Int64
	wrong              atomic.Pointer[string] // the end of another walk
}

func (c *deepWalks) watch(_ *target.Process, s *observe.RawSample, _ sample.StackID, w *frames.Walker) {
	if s.How != observe.ByStop || s.State != sample.Running {
		return
	}
	end := w.StopReason()
	switch {
	case end.Complete():
		c.whole.Add(1)
	case c.whole.Load() == 0:
		return
	case s.Limits.OutOfTime() && end == frames.StopStackCut:
		c.late.Add(1)
	default:
		text := end.String()
		c.wrong.Store(&text)
	}
	c.walks.Add(1)
}

func (c *deepWalks) await(t *testing.T) func(*Sampler) {
	return func(*Sampler) {
		await(t, "200 walks from the first whole one on", func() bool { return c.walks.Load() >= 200 })
	}
}

func (c *deepWalks) check(t *testing.T) {
	t.Helper()
	t.Logf("%d of %d stops gave a whole stack, %d had no time to", c.whole.Load(), c.walks.Load(), c.late.Load())
	if end := c.wrong.Load(); end != nil {
		t.Errorf("a stack that was stopped in time is incomplete: %s", *end)
	}
}

func TestStacksDeeperThanTheKernelCopiesAreStopped(t *testing.T) {
	started := start(t, "deep", "4000")
	o := sampling(t, 199)
	o.MaxDepth = 10_000
	var c deepWalks
	o.Walked = c.watch
	r := record(t, o, 0, c.await(t), started.pid)
	if events(&o).Stack() != perfevents.MaxStack || r.SampleStack != perfevents.MaxStack {
		t.Errorf("samples have %d bytes of stack", r.SampleStack)
	}
	c.check(t)
}

func TestStacksDeeperThanASmallCopyAreStopped(t *testing.T) {
	started := start(t, "deep", "400")
	o := sampling(t, 199)
	events(&o).Close()
	var err error
	if source(&o).Events, err = perfevents.Open(perfevents.ReaderOptions{Freq: 199,
		Stack: perfevents.MinStack}); err != nil {
		t.Fatal(err)
	}
	defer events(&o).Close()
	var c deepWalks
	o.Walked = c.watch
	r := record(t, o, 0, c.await(t), started.pid)
	if r.Engine != "perf" || r.SampleStack != perfevents.MinStack || r.KernelSampled == 0 {
		t.Errorf("engine %q (%s), %d bytes of stack, %d sampled", r.Engine, r.FallbackNote, r.SampleStack, r.KernelSampled)
	}
	c.check(t)
}

func TestHeldSamplerTakesNoSamples(t *testing.T) {
	started := start(t, "burners", "1")
	o := sampling(t, 199)
	used := func() uint64 {
		ns, err := procmem.ProcessCPU(started.pid)
		if err != nil {
			t.Error(err)
		}
		return ns
	}
	record(t, o, 0, func(s *Sampler) {
		await(t, "threads are sampled", func() bool { return s.Progress().Stacks >= 20 })
		s.Hold()
		await(t, "it is held", s.Held)
		before, cpu := s.Progress().Stacks, used()
		await(t, "the target runs on", func() bool { return used() > cpu+100e6 })
		if now := s.Progress().Stacks; now > before+64 {
			t.Errorf("%d stacks while it was held", now-before)
		}
		s.Resume()
		after := s.Progress().Stacks
		await(t, "threads are sampled again", func() bool { return s.Progress().Stacks >= after+20 })
	}, started.pid)
}

func TestProcessWhoseFramesTakeAStopIsSampledByPtrace(t *testing.T) {
	started := start(t, "burners", "2")
	o := sampling(t, 199)
	walks := 0
	o.Walked = func(p *target.Process, _ *observe.RawSample, _ sample.StackID, _ *frames.Walker) {
		if walks++; walks == 20 {
			p.RaiseLack(target.LacksFrames)
		}
	}
	r := record(t, o, 0, func(s *Sampler) { stopped(t, s, 50) }, started.pid)
	if r.Engine != "perf" || r.FallbackNote == "" || r.Stops == 0 || r.KernelSampled == 0 {
		t.Errorf("engine %q (%s), %d stops, %d sampled", r.Engine, r.FallbackNote, r.Stops, r.KernelSampled)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}

func TestSleepersHaveTheKernelsFrames(t *testing.T) {
	_, err := os.ReadFile("/proc/self/stack")
	testtargets.Need(t, err == nil, "the kernel's stacks", testtargets.AsRoot)
	started := start(t, "sleepers", "4")
	for _, wanted := range []bool{true, false} {
		r := record(t, target.SamplingOptions{Freq: 99, KernelStacks: wanted}, time.Second, nil, started.pid)
		kernel, user := int64(0), int64(0)
		r.sumOf(1, func(p *pprof.Sample) bool {
			if label(p, "state") != "sleeping" || p.Location[0].Mapping == nil {
				return false
			}
			outer := false
			for _, l := range p.Location {
				ofKernel := l.Mapping != nil && l.Mapping.File == "[kernel]"
				if outer = outer || !ofKernel; outer && ofKernel {
					t.Errorf("a function of the kernel is outside of %s", l.Line[0].Function.Name)
				}
			}
			if l := p.Location[0]; l.Mapping.File == "[kernel]" {
				kernel += p.Value[0]
				if len(l.Line) == 0 || l.Line[0].Function.Name == "" || !outer {
					t.Errorf("%+v", l)
				}
			} else {
				user += p.Value[0]
			}
			return false
		})
		if wanted && kernel <= 9*user || !wanted && kernel != 0 || kernel+user == 0 {
			t.Errorf("wanted: %v, but %d samples begin in the kernel and %d do not", wanted, kernel, user)
		}
		if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
			t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
		}
	}
}
