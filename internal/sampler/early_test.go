package sampler

import (
	"testing"

	"prywalk/internal/look"
	"prywalk/internal/profile"
)

// bookEarly books looks of one thread, 10 ms of processor time each, and gives the
// processor time of each stack.
func bookEarly(looks ...booking) map[profile.StackID]int64 {
	got := map[profile.StackID]int64{}
	a := &accountant{emitOne: func(s slice) { got[s.stack] += s.cpuRun }}
	th := &thread{}
	for i := range looks {
		b := &looks[i]
		t := int64(i+1) * 10e6
		b.at, b.where.state = Reading{Wall: t, CPU: t}, Running
		a.take(th, b)
	}
	a.settleEarly(th, false)
	th.clock.finish(a.emitter(th))
	return got
}

// at is a look that found the thread on a processor with a stack.
func at(stack profile.StackID, basis look.Basis) booking {
	return booking{where: seen{stack: stack}, onCPU: true, basis: basis}
}

func TestFirstLooksCountOnceItIsKnownThatTheyShowWhereTimeGoes(t *testing.T) {
	got := bookEarly(at(1, look.Early), at(2, look.Early), at(3, look.Early), at(4, look.FewCalls))
	if got[2] != 10e6 || got[3] != 10e6 || got[4] != 10e6 {
		t.Errorf("%v", got)
	}
}

func TestFirstLooksOfAThreadThatMakesManyCallsSayNothing(t *testing.T) {
	inCall := at(5, look.ManyCalls)
	inCall.onCPU = false // package look does not believe it
	got := bookEarly(at(1, look.Early), at(2, look.Early), at(3, look.Exact), at(4, look.Early), inCall, at(6, look.Exact))
	if got[1]+got[2]+got[4]+got[5] != 0 || got[3] != 20e6 || got[6] != 30e6 {
		t.Errorf("%v", got)
	}
}

func TestFirstLooksOfAThreadThatEndsEarlyCount(t *testing.T) {
	if got := bookEarly(at(1, look.Early), at(2, look.Early), at(3, look.Early)); got[2] != 10e6 || got[3] != 10e6 {
		t.Errorf("%v", got)
	}
}
