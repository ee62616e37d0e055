// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"fmt"

	"prywalk/internal/base/tabular"
)

const minThrottledShare = 0.01

// TargetGroups describes targets whose control groups used up their CPU quota or were frozen, a line each.
func TargetGroups(s *Stats) (lines []string) {
	type frozen struct{ cgroup, when string }
	first, n := map[frozen]int{}, map[frozen]int64{}
	var order []frozen
	for i := range s.FrozenTargets {
		f := &s.FrozenTargets[i]
		k := frozen{f.Cgroup, whenFrozen(f)}
		if n[k]++; n[k] == 1 {
			first[k], order = f.PID, append(order, k)
		}
	}
	for _, k := range order {
		its, threads := "its", "its threads"
		if n[k] > 1 {
			its, threads = "their", "their threads"
		}
		lines = append(lines, fmt.Sprintf("%s: %s cgroup %s was frozen (as by docker pause) %s: %s did not run then; "+
			"let it run (prywalk doctor -p PID says how), and record again", FirstAndOthers(first[k], n[k]), its, k.cgroup,
			k.when, threads))
	}
	for i := range s.TargetQuotas {
		if q := &s.TargetQuotas[i]; q.Seconds >= minThrottledShare*s.Seconds {
			lines = append(lines, fmt.Sprintf("process %d: its cgroup %s was throttled for %.1f s, in %d of %s, as its "+
				"CPU quota of %s CPUs was used up; this counts as run queue time; a larger quota or fewer threads help", q.PID,
				q.Cgroup, q.Seconds, q.ThrottledPeriods, Plural(q.Periods, "period"), tabular.TrimFloat(q.CPUs)))
		}
	}
	return lines
}

func whenFrozen(f *FrozenTarget) string {
	switch {
	case f.AtStart && f.AtEnd:
		return "when the recording began and when it ended"
	case f.AtStart:
		return "when the recording began"
	case f.AtEnd:
		return "when the recording ended"
	}
	return "for a part of the recording"
}

// FirstAndOthers names n processes by the first one's PID.
func FirstAndOthers(pid int, n int64) string {
	if n <= 1 {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d and %s", pid, Plural(n-1, "other"))
}
