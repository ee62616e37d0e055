// SPDX-License-Identifier: Apache-2.0

package tracer

import "testing"

func TestRunsCountWhereTheyAreShort(t *testing.T) {
	var r shortRuns
	r.add(0, 0)
	r.add(1000, 40_000_000)
	r.add(10, 5_000_000_000)
	r.add(1000, 999_000_000)
	if r.n != 2000 || r.cpu != 1_039_000_000 {
		t.Errorf("%d runs, %d ns", r.n, r.cpu)
	}
}
