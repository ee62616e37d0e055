// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Children returns a process's present children, ascending, by /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN), else
// by the parent of every process. A child whose parent has ended is that of its new parent.
func Children(pid int) []int { return defaultProc.children(pid) }

func (p procRoot) children(pid int) []int {
	kids, ok := p.listedChildren(pid)
	if !ok {
		kids = p.childrenByParent()[pid]
	}
	slices.Sort(kids)
	return kids
}

// Descendants returns the children of processes, their children, and so on, by the parent of every process. Some can be
// among pids.
func Descendants(pids ...int) []int { return defaultProc.tree(pids...) }

// LivingDescendants returns the [Descendants] that are not among pids, without prywalk and those that have ended.
func LivingDescendants(pids []int) []int {
	return slices.DeleteFunc(Descendants(pids...), func(pid int) bool {
		st := ReadStat("/proc", pid)
		return pid == os.Getpid() || slices.Contains(pids, pid) || st.PID == 0 || st.Ended()
	})
}

func (p procRoot) tree(pids ...int) []int {
	byParent := p.childrenByParent()
	out := slices.Clone(pids)
	for i := 0; i < len(out); i++ {
		kids := byParent[out[i]]
		delete(byParent, out[i]) // numbers that are reused meanwhile may make a cycle
		slices.Sort(kids)
		out = append(out, kids...)
	}
	return out[len(pids):]
}

func (p procRoot) listedChildren(pid int) ([]int, bool) {
	entries, err := os.ReadDir(p.path(pid, "task"))
	if err != nil {
		return nil, true
	}
	var kids []int
	listed := false
	for _, e := range entries {
		text, err := os.ReadFile(p.path(pid, filepath.Join("task", e.Name(), "children")))
		if err != nil {
			continue
		}
		listed = true
		for f := range bytes.FieldsSeq(text) {
			if n, err := strconv.Atoi(string(f)); err == nil {
				kids = append(kids, n)
			}
		}
	}
	return kids, listed || len(entries) == 0
}

func (p procRoot) childrenByParent() map[int][]int {
	out := map[int][]int{}
	entries, err := os.ReadDir(string(p))
	if err != nil {
		return out
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st := ReadStat(string(p), pid); st.PID != 0 {
			out[st.PPID] = append(out[st.PPID], pid)
		}
	}
	return out
}
