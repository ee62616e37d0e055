// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"

	"prywalk/internal/quota"
	"prywalk/internal/runstats"
)

// targetGroups is what held up the targets' control groups: CPU quotas, and freezing.
type targetGroups struct {
	pids   []int
	quotas quota.Targets
	frozen []string // at the start, by index of pids; "": not frozen
}

// readGroups begins to observe the control groups of processes.
func readGroups(pids []int) targetGroups {
	root := quota.Root("/")
	return targetGroups{pids: pids, quotas: root.Targets(pids), frozen: root.FrozenEach(pids)}
}

// addTo adds what was observed to statistics.
func (g *targetGroups) addTo(s *runstats.Stats) {
	for _, q := range g.quotas.Throttled() {
		s.TargetQuotas = append(s.TargetQuotas, runstats.Throttling(q))
	}
	atEnd := quota.Root("/").FrozenEach(g.pids)
	for i, pid := range g.pids {
		if dir := cmp.Or(atEnd[i], g.frozen[i]); dir != "" {
			s.FrozenTargets = append(s.FrozenTargets,
				runstats.FrozenTarget{PID: pid, Cgroup: dir, AtStart: g.frozen[i] != "", AtEnd: atEnd[i] != ""})
		}
	}
}
