// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"testing"

	"prywalk/internal/base/sample"
)

func cpuOfStacks(samples ...Sample) map[sample.StackID]int64 {
	got := map[sample.StackID]int64{}
	var th threadAccount
	th.ledger.Emit = func(s Span) { got[s.Stack] += s.CPU }
	for i := range samples {
		b := &samples[i]
		t := int64(i+1) * 10e6
		b.At, b.Place.State = sample.Reading{Wall: t, CPU: t}, sample.Running
		th.add(b)
	}
	th.finish()
	return got
}

func at(stack sample.StackID, basis sample.Basis) Sample {
	return Sample{Place: Place{Stack: stack}, OnCPU: true, Basis: basis}
}

func TestUndecidedFirstSamplesGetTimeOnceCallsAreKnownToBeFew(t *testing.T) {
	got := cpuOfStacks(at(1, sample.Undecided), at(2, sample.Undecided), at(3, sample.Undecided), at(4, sample.FewCalls))
	if got[2] != 10e6 || got[3] != 10e6 || got[4] != 10e6 {
		t.Errorf("time by stack %v, want 10 ms of each of 2, 3, 4", got)
	}
}

func TestFirstSamplesOfAThreadWithManyCallsGetNoTime(t *testing.T) {
	inCall := at(5, sample.ManyCalls)
	inCall.OnCPU = false
	got := cpuOfStacks(at(1, sample.Undecided), at(2, sample.Undecided), at(3, sample.Exact),
		at(4, sample.Undecided), inCall, at(6, sample.Exact))
	if got[1]+got[2]+got[4]+got[5] != 0 || got[3] != 20e6 || got[6] != 30e6 {
		t.Errorf("time by stack %v, want 20 ms of 3 and 30 ms of 6", got)
	}
}

func TestUndecidedSamplesOfAThreadThatEndsEarlyGetTime(t *testing.T) {
	if got := cpuOfStacks(at(1, sample.Undecided), at(2, sample.Undecided), at(3, sample.Undecided)); got[2] != 10e6 ||
		got[3] != 10e6 {
		t.Errorf("time by stack %v, want 10 ms of each of 2, 3", got)
	}
}
