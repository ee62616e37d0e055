// SPDX-License-Identifier: Apache-2.0

package recording

import (
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
	g := targetGroups{pids: pids, quotas: root.Targets(pids), frozen: make([]string, len(pids))}
	for i, pid := range pids {
		g.frozen[i] = root.Frozen(pid)
	}
	return g
}

// addTo adds what was observed to statistics.
func (g *targetGroups) addTo(s *runstats.Stats) {
	for _, q := range g.quotas.Throttled() {
		s.TargetQuotas = append(s.TargetQuotas, runstats.Throttling(q))
	}
	for i, pid := range g.pids {
		before, now := g.frozen[i], quota.Root("/").Frozen(pid)
		if dir := max(before, now); dir != "" {
			s.FrozenTargets = append(s.FrozenTargets,
				runstats.FrozenTarget{PID: pid, Cgroup: dir, AtStart: before != "", AtEnd: now != ""})
		}
	}
}
