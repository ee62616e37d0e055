// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

func choosing(t *testing.T, freq float64) target.SamplingOptions {
	o := sampling(t, freq)
	source(&o).MayFallBack = true
	return o
}

func TestEachProcessHasTheEngineThatSeesItsStacks(t *testing.T) {
	c, g := start(t, "burners", "1"), goTarget(t, "gostacks")
	o := choosing(t, 199)
	stoppedC, sampledGo := 0, 0
	o.Walked = func(p *target.Process, s *observe.RawSample, _ sample.StackID, _ *frames.Walker) {
		switch {
		case p.Code.PID == c.pid && s.How == observe.ByStop:
			stoppedC++
		case p.Code.PID == g && s.How == observe.ByKernelSample:
			sampledGo++
		}
	}
	r := record(t, o, 0, func(s *Sampler) {
		stopped(t, s, 50)
		await(t, "threads are sampled", func() bool { return s.Progress().Stacks >= s.Progress().Tracer.Stops+20 })
	}, c.pid, g)
	if r.Engine != "perf" ||
		!strings.Contains(r.FallbackNote, "sampled by stops, not by the kernel: 1 Go program, whose threads change stacks") {
		t.Errorf("engine %q (%s)", r.Engine, r.FallbackNote)
	}
	if stoppedC != 0 || sampledGo != 0 || r.KernelSampled == 0 {
		t.Errorf("%d stops of C, %d samples of Go, %d samples", stoppedC, sampledGo, r.KernelSampled)
	}
}

func TestPtraceAloneIsReportedWhereNoProcessIsSampled(t *testing.T) {
	g := goTarget(t, "gostacks")
	o := choosing(t, 199)
	var before int64
	r := record(t, o, 0, func(s *Sampler) {
		stopped(t, s, 20)
		before = events(&o).Samples()
		stopped(t, s, 100)
	}, g)
	if r.Engine != "ptrace" || r.FallbackNote != "1 Go program, whose threads change stacks" || r.KernelSampled != 0 {
		t.Errorf("engine %q (%s), %d sampled", r.Engine, r.FallbackNote, r.KernelSampled)
	}
	if n := events(&o).Samples(); n != before {
		t.Errorf("%d samples while no process is sampled", n-before)
	}
}

func TestFallbackIsDecidedAgainAfterExec(t *testing.T) {
	exe, err := testtargets.Compile("threads.c", "-O1", "-g0")
	if err != nil {
		t.Fatal(err)
	}
	started := start(t, "exec", exe)
	o := choosing(t, 199)
	walked := make(chan *target.Process, 1)
	o.Walked = func(p *target.Process, _ *observe.RawSample, _ sample.StackID, _ *frames.Walker) {
		select {
		case walked <- p:
		default:
		}
	}
	r := record(t, o, 0, func(s *Sampler) {
		p := bounded.Receive(t, "a thread is walked", walked)
		await(t, "threads are sampled", func() bool { return s.Progress().Stacks >= 20 })
		p.RaiseLack(target.LacksOuterFrames)
		stopped(t, s, 20)
		started.signal(t, unix.SIGUSR1) // it calls exec
		since := s.Progress()
		await(t, "they are sampled again", func() bool {
			now := s.Progress()
			if now.Tracer.Stops != since.Tracer.Stops {
				since = now
			}
			return now.Stacks >= since.Stacks+20
		})
	}, started.pid)
	const note = "sampled by stops, not by the kernel: 1 process, whose stacks kernel samples do not show whole"
	if r.Engine != "perf" || r.FallbackNote != note {
		t.Errorf("engine %q (%s)", r.Engine, r.FallbackNote)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}
