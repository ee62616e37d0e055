package sampler

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/look"
	"prywalk/internal/profile"
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
	o.prepare = func(u *unwinder) {
		u.check = func(p *processAccount, s *look.Shot, _ profile.StackID) {
			switch {
			case p.target.PID == c.pid && s.How == look.ByFreeze:
				frozenC++
			case p.target.PID == g && s.How == look.BySample:
				sampledGo++
			}
		}
	}
	r := record(t, o, time.Second, func(s *Sampler) {
		frozen(t, s, 50)
		await(t, "threads are sampled", func() bool { return s.Progress().Stacks >= s.Progress().Frozen+20 })
	}, c.pid, g)
	if r.Engine != "perf" || !strings.Contains(r.EngineNote, "by ptrace: 1 process with stacks in several places") {
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
	account := make(chan *processAccount, 1)
	o.prepare = func(u *unwinder) {
		u.check = func(p *processAccount, _ *look.Shot, _ profile.StackID) {
			select {
			case account <- p:
			default:
			}
		}
	}
	r := record(t, o, time.Second, func(s *Sampler) {
		p := <-account
		await(t, "threads are sampled", func() bool { return s.Progress().Stacks >= 20 })
		p.lacks(lacksRoots)
		frozen(t, s, 20)
		p.lack.Store(uint32(lacksNothing))
		since := s.Progress()
		await(t, "they are sampled again", func() bool {
			now := s.Progress()
			if now.Frozen != since.Frozen {
				since = now
			}
			return now.Stacks >= since.Stacks+20
		})
	}, target.pid)
	if r.Engine != "perf" || r.EngineNote != "by ptrace: 1 process with stacks that samples do not show whole" {
		t.Errorf("engine %q (%s)", r.Engine, r.EngineNote)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}

func TestOneInAHundredSamplesWithoutARootIsTooMany(t *testing.T) {
	sample, stopped := &look.Shot{How: look.BySample}, &look.Shot{How: look.ByFreeze}
	judged := func(whole, wanting int) lack {
		p := &processAccount{}
		for range whole {
			p.judge(sample, frames.StopRoot, false)
		}
		for range wanting {
			p.judge(sample, frames.StopBadMemory, false)
			p.judge(sample, frames.StopStackCut, false) // the next copy is longer
			p.judge(stopped, frames.StopNoRule, false)
		}
		return lack(p.lack.Load())
	}
	for _, c := range []struct {
		whole, wanting int
		want           lack
	}{{0, 7, lacksNothing}, {0, 8, lacksRoots}, {100, 8, lacksRoots}, {800, 8, lacksNothing}, {2000, 15, lacksNothing}} {
		if got := judged(c.whole, c.wanting); got != c.want {
			t.Errorf("%d of %d: %v, want %v", c.wanting, c.whole+c.wanting, got, c.want)
		}
	}
	p := &processAccount{}
	for range 8 {
		p.judge(sample, frames.StopStackCut, true) // on another stack than the kernel copies
	}
	if lack(p.lack.Load()) != lacksRoots {
		t.Error("stacks in several places are not told")
	}
}

// TestProcessThatRunsUnsampledIsPtraces: others have samples.
func TestProcessThatRunsUnsampledIsPtraces(t *testing.T) {
	o := choosing(t, 100)
	c := &tracer{opts: &o}
	c.observe(o.Events)
	defer c.samples.reader.Pause()
	p := &process{account: &processAccount{}, sampled: true}
	for ran, want := range map[uint64]lack{100e6: lacksNothing, 499e6: lacksNothing, 500e6: lacksSamples} {
		p.account.lack.Store(0)
		p.clock.now = ran
		if c.checkSamplesOf(p); lack(p.account.lack.Load()) != want {
			t.Errorf("after %d ms: %v", ran/1e6, lack(p.account.lack.Load()))
		}
	}
	p.account.lack.Store(0)
	p.heard++
	if c.checkSamplesOf(p); p.account.lack.Load() != 0 || p.ranUnheard != p.clock.ran() {
		t.Error("a sample is a sign of life")
	}
}
