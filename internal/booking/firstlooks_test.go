// SPDX-License-Identifier: Apache-2.0

package booking

import (
	"testing"

	"prywalk/internal/profile"
	"prywalk/internal/skid"
)

// bookFirst books looks of one thread, 10 ms of processor time each, and gives the
// processor time of each stack.
func bookFirst(looks ...Look) map[profile.StackID]int64 {
	got := map[profile.StackID]int64{}
	emit := func(s Span) { got[s.Stack] += s.CPU }
	var th Thread
	for i := range looks {
		b := &looks[i]
		t := int64(i+1) * 10e6
		b.At, b.Seen.State = Reading{Wall: t, CPU: t}, Running
		th.Add(b, nil, emit)
	}
	th.Finish(nil, emit)
	return got
}

// at is a look that found the thread on a processor with a stack.
func at(stack profile.StackID, basis skid.Basis) Look {
	return Look{Seen: Seen{Stack: stack}, OnCPU: true, Basis: basis}
}

func TestFirstLooksCountOnceItIsKnownThatTheyShowWhereTimeGoes(t *testing.T) {
	got := bookFirst(at(1, skid.Undecided), at(2, skid.Undecided), at(3, skid.Undecided), at(4, skid.FewCalls))
	if got[2] != 10e6 || got[3] != 10e6 || got[4] != 10e6 {
		t.Errorf("%v", got)
	}
}

func TestFirstLooksOfAThreadThatMakesManyCallsSayNothing(t *testing.T) {
	inCall := at(5, skid.ManyCalls)
	inCall.OnCPU = false // package skid does not believe it
	got := bookFirst(at(1, skid.Undecided), at(2, skid.Undecided), at(3, skid.Exact), at(4, skid.Undecided), inCall,
		at(6, skid.Exact))
	if got[1]+got[2]+got[4]+got[5] != 0 || got[3] != 20e6 || got[6] != 30e6 {
		t.Errorf("%v", got)
	}
}

func TestFirstLooksOfAThreadThatEndsEarlyCount(t *testing.T) {
	if got := bookFirst(at(1, skid.Undecided), at(2, skid.Undecided), at(3, skid.Undecided)); got[2] != 10e6 ||
		got[3] != 10e6 {
		t.Errorf("%v", got)
	}
}
