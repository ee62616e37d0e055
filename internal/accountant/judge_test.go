package accountant

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/handover"
	"prywalk/internal/look"
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
