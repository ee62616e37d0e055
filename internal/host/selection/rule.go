// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"prywalk/internal/host/container"
)

// Criteria are what a user gives; the zero value selects any process.
type Criteria struct {
	All bool // -a: it may stand alone
	// Cgroup is a control group's path below the root of its hierarchy, or a pattern of [path.Match]; groups below
	// match too.
	Cgroup string
	// Unit is a systemd unit's name, or a pattern. A user's units count only for User, else for the user who runs prywalk.
	Unit string
	// Container is a container's name, its id or the beginning of that; Pod a pod's name, also with its namespace before
	// a slash.
	Container, Pod string
	// User is a name or a number, of the effective user.
	User string
	// Match is a regular expression for the names of [Process].
	Match string
}

// Rule selects processes that satisfy all options.
type Rule struct {
	Criteria Criteria
	uid      int            // −1 permits any
	match    *regexp.Regexp // nil permits any
}

// New parses options. The error names the option.
func New(o Criteria) (r Rule, err error) {
	r = Rule{Criteria: o, uid: -1}
	if o.Cgroup != "" {
		if r.Criteria.Cgroup, err = cgroupPattern(o.Cgroup); err != nil {
			return r, err
		}
	}
	if o.Unit != "" {
		if _, err := path.Match(o.Unit, ""); err != nil || strings.Contains(o.Unit, "/") {
			return r, fmt.Errorf("--unit %s: not the name of a unit", o.Unit)
		}
		if !strings.Contains(o.Unit, ".") {
			r.Criteria.Unit += ".service"
		}
	}
	if o.User != "" {
		if r.uid, err = userID(o.User); err != nil {
			return r, err
		}
	}
	if o.Match != "" {
		if r.match, err = regexp.Compile(o.Match); err != nil {
			if wrong, ok := errors.AsType[*syntax.Error](err); ok {
				err = errors.New(wrong.Code.String())
			}
			return r, fmt.Errorf("--match %q is not a regular expression: %w", o.Match, err)
		}
	}
	return r, nil
}

const mount = "/sys/fs/cgroup"

// cgroupPattern takes paths with or without mount.
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

func (r *Rule) selectsAny() bool { return r.Criteria == Criteria{All: r.Criteria.All} }

func (r *Rule) hasContainer() bool { return r.Criteria.Container != "" || r.Criteria.Pod != "" }

func (r *Rule) inContainer(c *container.Container) bool {
	return (r.Criteria.Container == "" || c.HasName(r.Criteria.Container)) &&
		(r.Criteria.Pod == "" || c.InPod(r.Criteria.Pod))
}

// String returns flags.
func (r Rule) String() string {
	var flags []string
	if r.Criteria.All {
		flags = append(flags, "-a")
	}
	for _, flag := range []struct{ name, value string }{
		{"--cgroup", r.Criteria.Cgroup}, {"--unit", r.Criteria.Unit}, {"--container", r.Criteria.Container},
		{"--pod", r.Criteria.Pod}, {"--user", r.Criteria.User},
		{"--match", r.Criteria.Match},
	} {
		if flag.value != "" {
			flags = append(flags, flag.name+" "+flag.value)
		}
	}
	return strings.Join(flags, " ")
}

// inGroups reads /proc/PID/cgroup (cgroups(7)): a line is number:controllers:path; version 2 has no controllers.
func (r *Rule) inGroups(text string) bool {
	group, unit := r.Criteria.Cgroup == "", r.Criteria.Unit == ""
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		at := fields[2]
		group = group || below(r.Criteria.Cgroup, at)
		for controller := range strings.SplitSeq(fields[1], ",") {
			group = group || controller != "" && below(r.Criteria.Cgroup, "/"+strings.TrimPrefix(controller, "name=")+at)
		}
		unit = unit || (fields[1] == "" || fields[1] == "name=systemd") && r.inUnit(at)
	}
	return group && unit
}

// inUnit is systemd's cg_path_get_unit and cg_path_get_user_unit: below slices stands the unit. Further down are groups
// that the unit makes, and below user@UID.service that user's units, both under any name.
func (r *Rule) inUnit(group string) bool {
	for part := range strings.SplitSeq(strings.TrimPrefix(group, "/"), "/") {
		if is, _ := path.Match(r.Criteria.Unit, part); is {
			return true
		}
		if !strings.HasSuffix(part, ".slice") && part != r.userManager() {
			return false
		}
	}
	return false
}

func (r *Rule) userManager() string {
	uid := r.uid
	if uid < 0 {
		uid = os.Geteuid()
	}
	return "user@" + strconv.Itoa(uid) + ".service"
}

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
