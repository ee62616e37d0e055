// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/sample"
	"prywalk/internal/testtargets"
)

// choosing gives options by which the sampler chooses between the engines.
func choosing(t *testing.T, freq float64) Options {
	o := sampling(t, freq)
	o.Choose = true
	return o
}

func goProgram(t *testing.T) int {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "gostacks")
	if out, err := exec.Command("go", "build", "-o", exe, "testdata/gostacks/main.go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	return cmd.Process.Pid
}

// TestEachProcessHasTheEngineThatSeesItsStacks: one in C, and one in Go, whose code tells that a walk goes on to a
// goroutine's stack.
func TestEachProcessHasTheEngineThatSeesItsStacks(t *testing.T) {
	c, g := start(t, "burners", "1"), goProgram(t)
	o := choosing(t, 199)
	frozenC, sampledGo := 0, 0
	o.walked = func(p *handover.Process, s *look.Shot, _ sample.StackID, _ *frames.Walker) {
		switch {
		case p.Target.PID == c.pid && s.How == look.ByFreeze:
			frozenC++
		case p.Target.PID == g && s.How == look.BySample:
			sampledGo++
		}
	}
	r := record(t, o, time.Second, func(s *Sampler) {
		frozen(t, s, 50)
		await(t, "threads are sampled", func() bool { return s.Progress().Stacks >= s.Progress().Frozen+20 })
	}, c.pid, g)
	if r.Engine != "perf" ||
		!strings.Contains(r.EngineNote, "by stopping threads: 1 process with stacks in several places") {
		t.Errorf("engine %q (%s)", r.Engine, r.EngineNote)
	}
	if frozenC != 0 || sampledGo != 0 || r.Sampled == 0 {
		t.Errorf("%d freezes of C, %d samples of Go, %d samples", frozenC, sampledGo, r.Sampled)
	}
}

// TestPtraceAloneIsToldWhereNoProcessIsSampled: and nobody is interrupted for samples that nobody wants.
func TestPtraceAloneIsToldWhereNoProcessIsSampled(t *testing.T) {
	g := goProgram(t)
	o := choosing(t, 199)
	var before int64
	r := record(t, o, time.Second, func(s *Sampler) {
		frozen(t, s, 20)
		before = o.Events.Samples()
		frozen(t, s, 100)
	}, g)
	if r.Engine != "ptrace" || r.EngineNote != "1 process with stacks in several places" || r.Sampled != 0 {
		t.Errorf("engine %q (%s), %d sampled", r.Engine, r.EngineNote, r.Sampled)
	}
	if n := o.Events.Samples(); n != before {
		t.Errorf("%d samples while nobody wants any", n-before)
	}
}

// TestProcessIsJudgedAnew: what samples lack of it is found while it runs, and forgotten with its program.
func TestProcessIsJudgedAnew(t *testing.T) {
	target := start(t, "burners", "2")
	o := choosing(t, 199)
	walked := make(chan *handover.Process, 1)
	o.walked = func(p *handover.Process, _ *look.Shot, _ sample.StackID, _ *frames.Walker) {
		select {
		case walked <- p:
		default:
		}
	}
	r := record(t, o, time.Second, func(s *Sampler) {
		p := <-walked
		await(t, "threads are sampled", func() bool { return s.Progress().Stacks >= 20 })
		p.Lacks(handover.LacksRoots)
		frozen(t, s, 20)
		p.ForgetLack()
		since := s.Progress()
		await(t, "they are sampled again", func() bool {
			now := s.Progress()
			if now.Frozen != since.Frozen {
				since = now
			}
			return now.Stacks >= since.Stacks+20
		})
	}, target.pid)
	if r.Engine != "perf" || r.EngineNote != "by stopping threads: 1 process with stacks that samples do not show whole" {
		t.Errorf("engine %q (%s)", r.Engine, r.EngineNote)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}
