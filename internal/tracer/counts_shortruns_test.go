// SPDX-License-Identifier: Apache-2.0

package tracer

import "testing"

// TestRunsCountWhereTheyAreShort: by the mean of their thread; one that never ran has none.
func TestRunsCountWhereTheyAreShort(t *testing.T) {
	var c counts
	c.ran(0, 0)
	c.ran(1000, 40_000_000)
	c.ran(10, 5_000_000_000)
	c.ran(1000, 999_000_000)
	if c.shortRuns != 2000 || c.shortRunsCPU != 1_039_000_000 {
		t.Errorf("%d runs, %d ns", c.shortRuns, c.shortRunsCPU)
	}
}
