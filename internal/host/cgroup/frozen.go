// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Frozen returns the directory of the control group, a process's own or an ancestor, that freezes it: by v2's
// cgroup.freeze (Documentation/admin-guide/cgroup-v2.rst) or v1's freezer
// (Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst). "": none, or no mount shows the group.
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
