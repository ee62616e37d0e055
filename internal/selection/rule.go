// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"os/user"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Rule says which processes are selected: those for which all that is set holds.
type Rule struct {
	// All selects every process.
	All bool
	// Cgroup is the path of a control group below the root of its hierarchy, or a pattern of [path.Match]. It selects
	// the processes in that group and in those below it.
	Cgroup string
	// Unit is the name of a systemd unit, or a pattern. It selects the processes in control groups of that name.
	Unit string
	// UID is the number of a user, by whose rights the processes run (the effective user); −1: any user's.
	UID int
	// Match is matched with the names of a process: the kernel's, that of its program's file, and that of its first
	// argument; nil: any name.
	Match *regexp.Regexp
}

// New makes a rule from what a user gives; what is empty selects any process. The error says which value is none.
func New(all bool, cgroup, unit, owner, match string) (r Rule, err error) {
	r = Rule{All: all, UID: -1}
	if cgroup != "" {
		if r.Cgroup, err = cgroupPattern(cgroup); err != nil {
			return r, err
		}
	}
	if unit != "" {
		if _, err := path.Match(unit, ""); err != nil || strings.Contains(unit, "/") {
			return r, fmt.Errorf("--unit %s: not the name of a unit", unit)
		}
		if r.Unit = unit; !strings.Contains(unit, ".") {
			r.Unit += ".service"
		}
	}
	if owner != "" {
		if r.UID, err = userID(owner); err != nil {
			return r, err
		}
	}
	if match != "" {
		if r.Match, err = regexp.Compile(match); err != nil {
			return r, fmt.Errorf("--match: %w", err)
		}
	}
	return r, nil
}

// mount is where control groups are mounted.
const mount = "/sys/fs/cgroup"

// cgroupPattern checks a path of a control group. It may begin with the place where the groups are mounted.
func cgroupPattern(p string) (string, error) {
	if p == mount || strings.HasPrefix(p, mount+"/") {
		p = strings.TrimPrefix(p, mount)
	}
	p = path.Clean("/" + p)
	if _, err := path.Match(p, ""); err != nil {
		return "", fmt.Errorf("--cgroup %s: not a path or pattern of a control group", p)
	}
	return p, nil
}

// userID gives the number of a user of that name, or with that number.
func userID(name string) (int, error) {
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return -1, fmt.Errorf("--user %s: there is no user of that name; getent passwd lists them", name)
	}
	n, err := strconv.Atoi(u.Uid)
	if err != nil {
		return -1, fmt.Errorf("--user %s: its number is %q", name, u.Uid)
	}
	return n, nil
}

// Empty reports whether the rule says nothing.
func (r *Rule) Empty() bool {
	return !r.All && r.Cgroup == "" && r.Unit == "" && r.UID < 0 && r.Match == nil
}

// String gives the rule as flags of the command line.
func (r Rule) String() string {
	var parts []string
	add := func(set bool, text string) {
		if set {
			parts = append(parts, text)
		}
	}
	add(r.All, "-a")
	add(r.Cgroup != "", "--cgroup "+r.Cgroup)
	add(r.Unit != "", "--unit "+r.Unit)
	add(r.UID >= 0, "--user "+strconv.Itoa(r.UID))
	if r.Match != nil {
		add(true, "--match "+r.Match.String())
	}
	return strings.Join(parts, " ")
}

// inGroups reports whether the text of /proc/PID/cgroup (cgroups(7)) says that a process is in the rule's groups. A
// line is number:controllers:path; version 2 has no controllers.
func (r *Rule) inGroups(text string) bool {
	if r.Cgroup == "" && r.Unit == "" {
		return true
	}
	group, unit := r.Cgroup == "", r.Unit == ""
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		at := fields[2]
		group = group || below(r.Cgroup, at)
		for controller := range strings.SplitSeq(fields[1], ",") {
			group = group || controller != "" && below(r.Cgroup, "/"+strings.TrimPrefix(controller, "name=")+at)
		}
		for part := range strings.SplitSeq(at, "/") {
			if is, _ := path.Match(r.Unit, part); is && part != "" {
				unit = true
			}
		}
	}
	return group && unit
}

// below reports whether a path is what a pattern says, or lies below it.
func below(pattern, at string) bool {
	if pattern == "/" {
		return true
	}
	for ; len(at) > 1 && at[0] == '/'; at = at[:strings.LastIndexByte(at, '/')] {
		if is, _ := path.Match(pattern, at); is || pattern == at {
			return true
		}
	}
	return false
}
