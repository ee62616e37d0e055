// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Frozen returns the directory of a process's control group if that group or an ancestor of it is frozen, so that none
// of the process's threads runs: v2's cgroup.freeze (Documentation/admin-guide/cgroup-v2.rst) or v1's freezer
// (Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst). "": it is not frozen, or no mount shows the group.
func (r Root) Frozen(pid int) string {
	_, mounts := r.hierarchies()
	text, err := os.ReadFile(r.path("/proc/" + strconv.Itoa(pid) + "/cgroup"))
	if err != nil {
		return ""
	}
	groups, mounts := visible(parseGroups(string(text)), mounts)
	for i := range mounts {
		m := &mounts[i]
		below, ok := m.pathBelow(groups.pathIn(m))
		if dir := filepath.Join(m.at, below); ok && m.frozen(r.path(dir)) {
			return dir
		}
	}
	return ""
}

// frozen reads a group's state, which is that of its ancestors, too.
func (m *mount) frozen(dir string) bool {
	if m.v2 {
		events, _ := os.ReadFile(filepath.Join(dir, "cgroup.events")) // the root has none
		return slices.Contains(strings.Split(string(events), "\n"), "frozen 1")
	}
	return slices.Contains(m.controllers, "freezer") && readWord(dir, "freezer.state") == "FROZEN"
}
