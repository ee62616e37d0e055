// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Throttling is what the CPU quota of a target's control group withheld from it while it was recorded.
type Throttling struct {
	// PID is a target in the group.
	PID int `json:"pid"`
	// Cgroup is the group's directory.
	Cgroup string `json:"cgroup"`
	// CPUs is the quota, as CPU time divided by wall time.
	CPUs float64 `json:"cpu_quota"`
	// Periods are the quota's periods in which the group ran.
	Periods int64 `json:"periods"`
	// ThrottledPeriods are the periods in which the group used up the quota.
	ThrottledPeriods int64 `json:"throttled_periods"`
	// Seconds is how long the group waited for the next period, in seconds, summed over every CPU. It is run queue
	// time of the group's threads.
	Seconds float64 `json:"throttled_s"`
}

// Groups observes the CPU quotas and the freezing of other processes' control groups. Not safe for concurrent use.
type Groups struct {
	root    Root
	mounts  []mount
	known   map[string]string // by the text of /proc/PID/cgroup: what freezes the group, at the last Read
	limited []limitedGroup
}

// first is of the discovery, last of the last call of Read.
type limitedGroup struct {
	pid         int
	quota       CPUQuota
	first, last CPUStat
}

// Groups prepares to observe groups.
func (r Root) Groups() *Groups {
	_, mounts := r.hierarchies()
	return &Groups{root: r, mounts: mounts}
}

// Read reads the groups of processes, and their ancestors, each once. For each process it returns what [Root.Frozen]
// does.
func (g *Groups) Read(pids []int) (frozenBy []string) {
	kept := g.limited[:0]
	for _, l := range g.limited {
		if now, ok := l.quota.ReadStat(); ok {
			l.last = now
			kept = append(kept, l)
		}
	}
	g.limited = kept
	frozen := map[string]string{}
	frozenBy = make([]string, len(pids))
	for i, pid := range pids {
		text := g.root.groupsOf(pid)
		if text == "" {
			continue
		}
		if _, ok := frozen[text]; !ok {
			groups, mounts := visible(parseGroups(text), g.mounts)
			frozen[text] = g.root.frozenBy(groups, mounts)
			if _, known := g.known[text]; !known {
				g.findQuotas(pid, groups, mounts)
			}
		}
		frozenBy[i] = frozen[text]
	}
	g.known = frozen
	return frozenBy
}

func (r Root) groupsOf(pid int) string {
	text, _ := os.ReadFile(r.path("/proc/" + strconv.Itoa(pid) + "/cgroup"))
	return string(text)
}

func (g *Groups) findQuotas(pid int, groups groups, mounts []mount) {
	for _, q := range g.root.quotas(groups, mounts) {
		if slices.ContainsFunc(g.limited, func(l limitedGroup) bool { return l.quota.Dir == q.Dir }) {
			continue
		}
		if first, ok := q.ReadStat(); ok {
			g.limited = append(g.limited, limitedGroup{pid, q, first, first})
		}
	}
}

// visible leaves out groups outside of this process's cgroup namespace or container: the mounts do not show them.
func visible(g groups, mounts []mount) (groups, []mount) {
	for c, path := range g {
		if strings.HasPrefix(path, "/..") {
			delete(g, c)
		}
	}
	return g, slices.DeleteFunc(slices.Clone(mounts), func(m mount) bool {
		_, shown := m.pathFromRoot(g.pathIn(&m))
		return !shown
	})
}

// Throttled returns the groups throttled between their discovery and the last Read, without removed ones.
func (g *Groups) Throttled() (all []Throttling) {
	for i := range g.limited {
		l := &g.limited[i]
		if n := l.last.ThrottledPeriods - l.first.ThrottledPeriods; n > 0 {
			all = append(all, Throttling{
				PID: l.pid, Cgroup: g.root.nameOf(l.quota.Dir), CPUs: l.quota.Share(),
				Periods: l.last.Periods - l.first.Periods, ThrottledPeriods: n,
				Seconds: float64(l.last.ThrottledFor-l.first.ThrottledFor) / 1e9,
			})
		}
	}
	return all
}

// ReadStat reads the statistics once, and returns false if the group is gone.
func (q *CPUQuota) ReadStat() (CPUStat, bool) {
	m, err := q.Open()
	if err != nil {
		return CPUStat{}, false
	}
	defer m.Close()
	s, err := m.Read()
	return s, err == nil
}

// Frozen returns the directory of the control group, a process's own or an ancestor, that freezes it: by v2's
// cgroup.freeze (Documentation/admin-guide/cgroup-v2.rst) or v1's freezer
// (Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst). It returns "" if there is none, or no mount shows the
// group.
func (r Root) Frozen(pid int) string {
	_, mounts := r.hierarchies()
	return r.frozenBy(visible(parseGroups(r.groupsOf(pid)), mounts))
}

func (r Root) frozenBy(groups groups, mounts []mount) string {
	for i := range mounts {
		m := &mounts[i]
		group := groups.pathIn(m)
		below, ok := m.pathBelow(group)
		if !ok || !m.frozen(r.path(filepath.Join(m.at, below))) {
			continue
		}
		for up := range m.upFrom(group) {
			if m.freezes(r.path(filepath.Join(m.at, up))) {
				return filepath.Join(m.at, up)
			}
		}
		return filepath.Join(m.at, below)
	}
	return ""
}

// frozen reads a group's state, which includes its ancestors'.
func (m *mount) frozen(dir string) bool {
	if m.v2 {
		events, _ := os.ReadFile(filepath.Join(dir, "cgroup.events")) // the root has none
		return slices.Contains(strings.Split(string(events), "\n"), "frozen 1")
	}
	return slices.Contains(m.controllers, "freezer") && readWord(dir, "freezer.state") == "FROZEN"
}

// freezes reads the group's own state, not an ancestor's.
func (m *mount) freezes(dir string) bool {
	if m.v2 {
		return readWord(dir, "cgroup.freeze") == "1"
	}
	return readWord(dir, "freezer.self_freezing") == "1"
}
