// SPDX-License-Identifier: Apache-2.0

package quota

import (
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

// Targets finds the tightest quota of each process, each group once.
func (r Root) Targets(pids []int) (all Targets) {
	known := map[string]bool{}
	for _, pid := range pids {
		limits := r.limitsOf(strconv.Itoa(pid))
		if len(limits) == 0 || known[limits[0].Dir] {
			continue
		}
		known[limits[0].Dir] = true
		if first, ok := limits[0].sample(); ok {
			all = append(all, target{pid, limits[0], first})
		}
	}
	return all
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

// limitsOf returns the visible quotas of a process ("self" or a number), tightest first.
func (r Root) limitsOf(process string) []Limit {
	groups, mounts := r.hierarchies(process)
	for c, path := range groups {
		if strings.HasPrefix(path, "/..") { // outside of this process's cgroup namespace, which the mounts show
			delete(groups, c)
		}
	}
	return r.limits(groups, mounts)
}
