// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// Throttling is what a CPU quota withheld from a group in a time.
type Throttling struct {
	PID              int     // a process in the group
	CPUs             float64 // the quota, in processors
	Periods          int64   // in which the group ran
	ThrottledPeriods int64   // in which it used up the quota
	Seconds          float64 // waited for the next period, summed over processors
}

// Targets are the groups with a quota of other processes.
type Targets []target

type target struct {
	pid   int
	limit Limit
	first Sample
}

// Targets finds the quotas of processes' groups and their ancestors, each once.
func (r Root) Targets(pids []int) (all Targets) {
	_, mounts := r.hierarchies()
	known := map[string]bool{} // by text of /proc/PID/cgroup, and by directory
	for _, pid := range pids {
		text, err := os.ReadFile(r.path("/proc/" + strconv.Itoa(pid) + "/cgroup"))
		if err != nil || known[string(text)] {
			continue
		}
		known[string(text)] = true
		for _, l := range r.limits(visible(parseGroups(string(text)), mounts)) {
			if known[l.Dir] {
				continue
			}
			known[l.Dir] = true
			if first, ok := l.sample(); ok {
				all = append(all, target{pid, l, first})
			}
		}
	}
	return all
}

// visible leaves out groups that the mounts do not show: outside of this process's cgroup namespace or container.
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

// Throttled returns the groups that were throttled since they were found.
func (t Targets) Throttled() (all []Throttling) {
	for i := range t {
		now, ok := t[i].limit.sample()
		if n := now.Throttled - t[i].first.Throttled; ok && n > 0 {
			all = append(all, Throttling{
				PID: t[i].pid, CPUs: t[i].limit.Share(), Periods: now.Periods - t[i].first.Periods, ThrottledPeriods: n,
				Seconds: float64(now.ThrottledFor-t[i].first.ThrottledFor) / 1e9,
			})
		}
	}
	return all
}

// sample reads the statistics once; false: the group is gone.
func (l *Limit) sample() (Sample, bool) {
	m, err := l.Open()
	if err != nil {
		return Sample{}, false
	}
	defer m.Close()
	s, err := m.Read()
	return s, err == nil
}
