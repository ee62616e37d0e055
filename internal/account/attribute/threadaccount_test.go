// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"testing"

	"prywalk/internal/base/sample"
)

func TestTimeOfSamplesThatSkidGoesToTheNextExactOne(t *testing.T) {
	got := map[sample.StackID]int64{}
	var th threadAccount
	th.ledger.Emit = func(s Span) { got[s.Stack] += s.CPU }
	for i, skids := range []bool{false, true, true, false, true} {
		at := int64(i+1) * 10e6
		th.add(&Sample{
			At: sample.Reading{Wall: at, CPU: at}, Place: Place{Stack: sample.StackID(i + 1), State: sample.Running},
			OnCPU: !skids, Skids: skids,
		})
	}
	th.finish()
	if got[2]+got[3]+got[5] != 0 || got[4] != 40e6 { // 30 ms until it, and at the end those of the last one
		t.Errorf("time by stack %v, want 40 ms of 4", got)
	}
}
