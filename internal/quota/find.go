// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Limit is a quota of one control group.
type Limit struct {
	// Dir is the group's directory.
	Dir string
	// Quota is the processor time in each Period, in nanoseconds; it may be more than Period on several processors.
	Quota, Period int64
	// V2 tells cgroup v2 from v1.
	V2 bool
	// Own: it is the group that the process is in itself, and not one above it.
	Own bool
	// acct is where v1 says what the group has used; "" if nowhere.
	acct string
}

// Share gives the part of one processor that the group may use.
func (l *Limit) Share() float64 { return float64(l.Quota) / float64(l.Period) }

// Root is the directory below which /proc is: "/", but in tests.
type Root string

// mount is where a hierarchy is to be seen.
type mount struct {
	at, root    string
	v2          bool
	controllers []string
}

// Limits gives the quotas of this process's control groups and of those above them, as far as they can be seen, the
// tightest first; none if there is none.
func (r Root) Limits() []Limit {
	groups, mounts := r.hierarchies()
	var all []Limit
	for _, m := range mounts {
		if !m.v2 && !slices.Contains(m.controllers, "cpu") {
			continue
		}
		all = append(all, r.along(&m, groups.of(&m), accounts(mounts, groups))...)
	}
	slices.SortStableFunc(all, func(a, b Limit) int {
		switch {
		case a.Share() < b.Share():
			return -1
		case a.Share() > b.Share():
			return 1
		}
		return 0
	})
	return all
}

// hierarchies gives this process's groups, and where they are to be seen; none without /proc.
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

// path gives where a file of this machine is.
func (r Root) path(name string) string { return filepath.Join(string(r), name) }

// along gives the limits from a group up to the mount's root.
func (r Root) along(m *mount, group string, acct func(string) string) (all []Limit) {
	below, ok := m.below(group)
	for own := true; ok; own = false {
		dir := r.path(filepath.Join(m.at, below))
		if l, limited := read(dir, m.v2); limited {
			l.Own = own
			if !m.v2 {
				if l.acct = acct(filepath.Join(m.root, below)); l.acct != "" {
					l.acct = r.path(l.acct)
				}
			}
			all = append(all, l)
		}
		if below == "/" || below == "." {
			break
		}
		below = filepath.Dir(below)
	}
	return all
}

// below gives a group's path below the mount; false if it is not to be seen there.
func (m *mount) below(group string) (string, bool) {
	if group == "" {
		return "", false
	}
	rel, err := filepath.Rel(m.root, group)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "/", true // the mount shows another part: what it shows at its root is all that can be known
	}
	return filepath.Clean("/" + rel), true
}

// accounts gives the function that finds where v1 accounts for a group, by its path in the cpu hierarchy. Where the
// process's group has another path in the other hierarchy, nothing is known.
func accounts(mounts []mount, g groups) func(group string) string {
	return func(group string) string {
		for _, m := range mounts {
			if m.v2 || !slices.Contains(m.controllers, "cpuacct") || g.of(&m) == "" {
				continue
			}
			if own := g.of(&m); own != group && !strings.HasPrefix(own, strings.TrimSuffix(group, "/")+"/") {
				return ""
			}
			if below, ok := m.below(group); ok {
				return filepath.Join(m.at, below, "cpuacct.usage")
			}
		}
		return ""
	}
}

// groups are the lines of /proc/PID/cgroup: controllers and path, cgroups(7).
type groups map[string]string // by controller; "" is v2's

// of gives the group's path in a hierarchy, "" if there is none.
func (g groups) of(m *mount) string {
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

// parseMounts finds the control groups in /proc/PID/mountinfo (proc_pid_mountinfo(5)).
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

// unescape undoes what the kernel does to blanks in paths: three octal digits.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// read reads the quota of the group in a directory; false if it has none.
func read(dir string, v2 bool) (Limit, bool) {
	l := Limit{Dir: dir, V2: v2}
	if v2 {
		text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
		f := strings.Fields(string(text))
		if err != nil || len(f) != 2 {
			return l, false
		}
		l.Quota, l.Period = micros(f[0]), micros(f[1])
	} else {
		l.Quota, l.Period = micros(word(dir, "cpu.cfs_quota_us")), micros(word(dir, "cpu.cfs_period_us"))
	}
	return l, l.Quota > 0 && l.Period > 0
}

// word reads a file of one word, "" if there is none.
func word(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name)) // without it there is no quota
	return strings.TrimSpace(string(text))
}

// micros gives a number of microseconds in nanoseconds; 0 for what is none, such as "max".
func micros(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > 1<<50 {
		return 0
	}
	return n * 1000
}
