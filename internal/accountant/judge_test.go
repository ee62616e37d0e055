package accountant

import (
	"os/exec"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/testtargets"
)

func TestOneInAHundredSamplesWithoutARootIsTooMany(t *testing.T) {
	sample, stopped := &look.Shot{How: look.BySample}, &look.Shot{How: look.ByFreeze}
	judged := func(whole, wanting int) handover.Lack {
		p := &processAccount{Process: &handover.Process{}}
		for range whole {
			p.judge(sample, frames.StopRoot, false)
		}
		for range wanting {
			p.judge(sample, frames.StopBadMemory, false)
			p.judge(sample, frames.StopStackCut, false) // the next copy is longer
			p.judge(stopped, frames.StopNoRule, false)
		}
		return p.Lack()
	}
	for _, c := range []struct {
		whole, wanting int
		want           handover.Lack
	}{
		{0, 7, handover.LacksNothing}, {0, 8, handover.LacksRoots}, {100, 8, handover.LacksRoots},
		{800, 8, handover.LacksNothing}, {2000, 15, handover.LacksNothing},
	} {
		if got := judged(c.whole, c.wanting); got != c.want {
			t.Errorf("%d of %d: %v, want %v", c.wanting, c.whole+c.wanting, got, c.want)
		}
	}
	p := &processAccount{Process: &handover.Process{}}
	for range 8 {
		p.judge(sample, frames.StopStackCut, true) // on another stack than the kernel copies
	}
	if p.Lack() != handover.LacksRoots {
		t.Error("stacks in several places are not told")
	}
}

// TestWhatSamplesLackOfAProgramHoldsForItsNextProcess: of one that runs the same file. Too few samples of each process
// are enough together. Another file's processes are judged by themselves.
func TestWhatSamplesLackOfAProgramHoldsForItsNextProcess(t *testing.T) {
	a := &Accountant{programs: programs{}}
	run := func(pid, wanting int) handover.Lack {
		target, err := code.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		shared := handover.NewProcess(target, true, 0)
		if d := shared.TakeTasks(); d != nil {
			d.Close()
		}
		a.Recall(shared)
		before := shared.Lack()
		p := a.process(shared)
		for range wanting {
			p.judge(&look.Shot{How: look.BySample}, frames.StopBadMemory, false)
		}
		return before
	}
	for i, want := range []handover.Lack{handover.LacksNothing, handover.LacksNothing, handover.LacksRoots} {
		pid, _ := testtargets.Threads(t, "sleepers", "1")
		if got := run(pid, leastWanting/2); got != want {
			t.Errorf("process %d begins with %v, not %v", i, got, want)
		}
	}
	other := testtargets.Child(t, exec.Command("sleep", "1000")).Process.Pid
	testtargets.Eventually(t, "it has called exec", func() bool {
		var name procmem.Comm
		return procmem.ReadComm(other, &name) == nil && name.String() == "sleep"
	})
	if got := run(other, 0); got != handover.LacksNothing {
		t.Errorf("another program begins with %v", got)
	}
	if len(a.programs) != 2 {
		t.Errorf("%d programs are known", len(a.programs))
	}
}
