// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/internal/host/procmem"
)

func TestThreadRanUpToTheMomentIfItsClockSaysSo(t *testing.T) {
	const letGo, woken = 1_000_000_000, 1_010_000_000
	const justNow = 60e3 // as in package pace
	was := baseline{runs: 7, valid: true, detachedAt: letGo, cpu: 500}
	for _, tt := range []struct {
		name string
		base baseline
		now  procmem.SchedStat
		want bool
	}{
		{"all the time", was, procmem.SchedStat{CPU: 500 + woken - letGo - 5000, Runs: 8}, true},
		{"until just before", was, procmem.SchedStat{CPU: 500 + woken - letGo - justNow, Runs: 8}, true},
		{"its clock stands still, or it was taken off sooner", was, procmem.SchedStat{CPU: 500 + woken - letGo - justNow - 1,
			Runs: 8}, false},
		{"it was taken off in between", was, procmem.SchedStat{CPU: 500 + woken - letGo, Runs: 9}, false},
		{"it has not run", was, procmem.SchedStat{CPU: 500, Runs: 7}, false},
		{"it was not stopped", baseline{runs: 7, valid: true, cpu: 500}, procmem.SchedStat{CPU: 500 + woken, Runs: 8}, false},
		{"nothing is known", baseline{detachedAt: letGo}, procmem.SchedStat{CPU: woken, Runs: 1}, false},
	} {
		th := &Thread{sleep: sleepEvidence{base: tt.base}, clocks: clockReads{last: tt.now}}
		if got := th.sleep.base.lastRun(&th.clocks.last).RanUntil(woken); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
