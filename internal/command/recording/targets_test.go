// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"testing"
)

func TestLivingChildrenWithoutTimeAreNotedQuietly(t *testing.T) {
	before := childrenCPU{known: true, ticks: 100, live: map[int]uint64{7: 50, 8: 10}}
	for want, after := range map[string]childrenCPU{
		"2 child processes, not in the recording; --children includes them false": before,
		" false": {known: true, ticks: 100},
		"1 child process used 0.5 s of CPU meanwhile, not in the recording; --children includes them, also those already " +
			"running true": {known: true, ticks: 150, live: map[int]uint64{7: 100, 8: 10}},
	} {
		if line, toConsole := after.since(&before); fmt.Sprintf("%s %v", line, toConsole) != want {
			t.Errorf("%s %v, want %s", line, toConsole, want)
		}
	}
}
