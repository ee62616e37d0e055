// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func newTracer(o target.SamplingOptions) *Tracer {
	return New(o, NewControl(1), target.NewCommon(), ptrace.Now(), procmem.BootTicks())
}

func opened(t testing.TB, pid int) *target.Process {
	t.Helper()
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return target.NewProcess(p, false, 0)
}

func onTicks(t testing.TB, mode observe.Mode, f func(tick func(), c *Tracer), args ...string) {
	t.Helper()
	onTicksOf(t, target.SamplingOptions{Freq: 99, Mode: mode}, f, args...)
}

func onTicksOf(t testing.TB, o target.SamplingOptions, f func(tick func(), c *Tracer), args ...string) {
	t.Helper()
	pid, _ := testtargets.Threads(t, args...)
	onTicksOver(t, o, pid, f)
}

func onTicksOver(t testing.TB, o target.SamplingOptions, pid int, f func(tick func(), c *Tracer)) {
	t.Helper()
	p := opened(t, pid)
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		c := newTracer(o)
		c.shared.Observer = observe.New(ctl, c.shared.Pool, o.Mode)
		defer c.shared.Observer.Close()
		c.tracked.trackProcess(p)
		defer func() { c.observeLast(ptrace.Now()) }()
		f(func() {
			now := ptrace.Now()
			c.tick(now, now.Add(5e6))
			for len(c.shared.Queue.Batches()) > 0 {
				b := <-c.shared.Queue.Batches()
				for i := range b {
					c.shared.Pool.Put(b[i].RawSample)
				}
				c.shared.Queue.Put(b)
			}
		}, c)
	})
}

func TestTicksAllocateNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		mode observe.Mode
		args []string
		plan bool
	}{
		{"reuse", observe.ModeAuto, []string{"sleepers", "50"}, false},
		{"passive read", observe.ModeAlwaysRead, []string{"sleepers", "50"}, false},
		{"passive read by a plan", observe.ModeAlwaysRead, []string{"sleepers", "50"}, true},
		{"stop", observe.ModeAuto, []string{"burners", "1"}, false},
		{"stop by a plan", observe.ModeAuto, []string{"burners", "1"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got float64
			onTicks(t, c.mode, func(tick func(), tracer *Tracer) {
				for range 2 {
					tick()
				}
				if c.plan {
					setPlan(t, tracer)
				}
				for range 20 {
					tick()
				}
				got = testing.AllocsPerRun(50, tick)
			}, c.args...)
			if got != 0 {
				t.Errorf("%v allocations a tick", got)
			}
		})
	}
}

func setPlan(t *testing.T, tracer *Tracer) {
	t.Helper()
	plan := &managed.Plan{Steps: []managed.Step{
		{Op: managed.Copy, Base: managed.SlotAnchor, Max: 256},
		{Op: managed.Load, Base: managed.SlotAnchor, Off: 8, To: managed.SlotFirstFree},
		{Op: managed.CopyList, Base: managed.SlotFirstFree, Size: 64, Next: 8, Max: managed.MaxNodes},
	}}
	for _, p := range tracer.tracked.processes() {
		var st procmem.Stat
		if err := procmem.ReadStat(p.Code.PID, &st); err != nil || st.StartStack == 0 {
			t.Error(err, st.StartStack)
		}
		for _, th := range p.Threads.All() {
			th.Observed.Feedback().SetPlan(plan, st.StartStack&^7)
		}
	}
}

func benchmarkTick(b *testing.B, mode observe.Mode, args ...string) {
	onTicks(b, mode, func(tick func(), c *Tracer) {
		for range 20 {
			tick()
		}
		before := c.counts.attempted
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			tick()
		}
		b.StopTimer()
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(c.counts.attempted-before, 1)), "ns/observation")
	}, args...)
}

func BenchmarkTickReuse(b *testing.B) { benchmarkTick(b, observe.ModeAuto, "sleepers", "100") }
func BenchmarkTickPassiveRead(b *testing.B) {
	benchmarkTick(b, observe.ModeAlwaysRead, "sleepers", "100")
}
func BenchmarkTickStop(b *testing.B) { benchmarkTick(b, observe.ModeAuto, "burners", "1") }
