// SPDX-License-Identifier: Apache-2.0

// Package cgroup reads control groups: of this process, the CPU quotas, what is left of one, and the memory limit; of
// other processes, how long quotas throttled them, and whether they are frozen.
//
// A group may use its quota of CPU time per period (cgroup v2: cpu.max; v1: cpu.cfs_quota_us, cpu.cfs_period_us).
// Beyond it, its threads are throttled until the period ends: also a tracer, and with it the thread that it has
// stopped. The kernel counts periods, throttled periods and throttled time (cpu.stat; kernel/sched/core.c,
// cpu_cfs_stat_show; Documentation/scheduler/sched-bwc.rst). Real-time threads are exempt.
package cgroup

import (
	"cmp"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CPUQuota is a control group's quota.
type CPUQuota struct {
	Dir string
	// Quota is CPU time per Period; it may exceed Period.
	Quota, Period time.Duration
	Own           bool   // not an ancestor's
	acct          string // v1's usage file, or ""
}

// Share returns the quota in CPUs.
func (q *CPUQuota) Share() float64 { return float64(q.Quota) / float64(q.Period) }

// Root is the parent of /proc: "/", except in tests.
type Root string

type mount struct {
	at, root    string
	v2          bool
	controllers []string
}

// CPUQuotas returns the visible quotas of this process's groups and their ancestors, tightest first.
func (r Root) CPUQuotas() []CPUQuota { return r.quotas(r.hierarchies()) }

// CPUQuotasOf returns those of a process, as far as the mounts show its groups.
func (r Root) CPUQuotasOf(pid int) []CPUQuota {
	_, mounts := r.hierarchies()
	return r.quotas(visible(parseGroups(r.groupsOf(pid)), mounts))
}

func (r Root) quotas(groups groups, mounts []mount) []CPUQuota {
	var all []CPUQuota
	for _, m := range mounts {
		if !m.v2 && !slices.Contains(m.controllers, "cpu") {
			continue
		}
		all = append(all, r.quotasUpFrom(&m, groups.pathIn(&m), accounts(mounts, groups))...)
	}
	slices.SortStableFunc(all, func(a, b CPUQuota) int { return cmp.Compare(a.Share(), b.Share()) })
	return all
}

// hierarchies returns this process's groups and the mounts that show them; nothing without /proc.
func (r Root) hierarchies() (groups, []mount) {
	text, err := os.ReadFile(r.path("/proc/self/cgroup"))
	if err != nil {
		return nil, nil
	}
	info, err := os.ReadFile(r.path("/proc/self/mountinfo"))
	if err != nil {
		return nil, nil
	}
	return parseGroups(string(text)), parseMounts(string(info))
}

func (r Root) path(name string) string { return filepath.Join(string(r), name) }

func (r Root) nameOf(path string) string {
	return "/" + strings.TrimLeft(strings.TrimPrefix(path, string(r)), "/")
}

func (r Root) quotasUpFrom(m *mount, group string, acct func(string) string) (all []CPUQuota) {
	own := true
	for below := range m.upFrom(group) {
		if l, limited := read(r.path(filepath.Join(m.at, below)), m.v2); limited {
			l.Own = own
			if !m.v2 {
				if l.acct = acct(filepath.Join(m.root, below)); l.acct != "" {
					l.acct = r.path(l.acct)
				}
			}
			all = append(all, l)
		}
		own = false
	}
	return all
}

// upFrom yields the paths below the mount of a group and its ancestors, up to the mount's root.
func (m *mount) upFrom(group string) iter.Seq[string] {
	return func(yield func(below string) bool) {
		below, ok := m.pathBelow(group)
		for ok && yield(below) && below != "/" {
			below = filepath.Dir(below)
		}
	}
}

// pathBelow returns a group's path below the mount, and false if there is none.
func (m *mount) pathBelow(group string) (string, bool) {
	if group == "" {
		return "", false
	}
	rel, ok := m.pathFromRoot(group)
	if !ok {
		return "/", true // only the root of this part is known
	}
	return filepath.Clean("/" + rel), true
}

// pathFromRoot returns a group's path from the mount's root, and false if the mount does not show the group.
func (m *mount) pathFromRoot(group string) (string, bool) {
	rel, err := filepath.Rel(m.root, group)
	return rel, err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// accounts maps a group's path in the cpu hierarchy to v1's usage file; "" if this process's path in cpuacct differs.
func accounts(mounts []mount, g groups) func(group string) string {
	return func(group string) string {
		for _, m := range mounts {
			if m.v2 || !slices.Contains(m.controllers, "cpuacct") || g.pathIn(&m) == "" {
				continue
			}
			if own := g.pathIn(&m); own != group && !strings.HasPrefix(own, strings.TrimSuffix(group, "/")+"/") {
				return ""
			}
			if below, ok := m.pathBelow(group); ok {
				return filepath.Join(m.at, below, "cpuacct.usage")
			}
		}
		return ""
	}
}

// groups are controllers and paths, as in /proc/PID/cgroup (cgroups(7)).
type groups map[string]string // by controller; v2: ""

func (g groups) pathIn(m *mount) string {
	if m.v2 {
		return g[""]
	}
	for _, c := range m.controllers {
		if path := g[c]; path != "" {
			return path
		}
	}
	return ""
}

func parseGroups(text string) groups {
	g := groups{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			g[c] = f[2]
		}
	}
	return g
}

func parseMounts(text string) (all []mount) {
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 || g[0] != "cgroup" && g[0] != "cgroup2" {
			continue
		}
		all = append(all, mount{
			at: unescape(f[4]), root: unescape(f[3]), v2: g[0] == "cgroup2", controllers: strings.Split(g[2], ","),
		})
	}
	return all
}

// unescape reverts the kernel's escapes in paths (fs/proc_namespace.c, show_mountinfo).
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// read reads a directory's quota, and returns false if there is none.
func read(dir string, v2 bool) (CPUQuota, bool) {
	l := CPUQuota{Dir: dir}
	if v2 {
		text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
		f := strings.Fields(string(text))
		if err != nil || len(f) != 2 {
			return l, false
		}
		l.Quota, l.Period = parseMicros(f[0]), parseMicros(f[1])
	} else {
		l.Quota, l.Period = parseMicros(readWord(dir, "cpu.cfs_quota_us")), parseMicros(readWord(dir, "cpu.cfs_period_us"))
	}
	return l, l.Quota > 0 && l.Period > 0
}

func readWord(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name)) // an unreadable file: no quota
	return strings.TrimSpace(string(text))
}

// parseMicros returns 0 for "max" and other text.
func parseMicros(s string) time.Duration { return time.Duration(number(s, 1<<50)) * time.Microsecond }

// Memory is the least visible memory limit of this process's groups and their ancestors, bytes (cgroup v2: memory.max,
// memory.high; v1: memory.limit_in_bytes), or 0 if there is none.
func (r Root) Memory() (least int64) {
	groups, mounts := r.hierarchies()
	for _, m := range mounts {
		names := []string{"memory.max", "memory.high"}
		if !m.v2 {
			if !slices.Contains(m.controllers, "memory") {
				continue
			}
			names = []string{"memory.limit_in_bytes"}
		}
		for below := range m.upFrom(groups.pathIn(&m)) {
			for _, name := range names {
				if n := number(readWord(r.path(filepath.Join(m.at, below)), name), unlimited); n > 0 && (least == 0 || n < least) {
					least = n
				}
			}
		}
	}
	return least
}

// unlimited and more mean no limit: v1 then has the largest number of whole pages, about 1<<63.
const unlimited = 1 << 62

// number returns 0 for "max", other text, and numbers from limit on.
func number(s string, limit int64) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n >= limit {
		return 0
	}
	return n
}
