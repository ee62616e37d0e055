// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"os"
	"strconv"

	"prywalk/internal/procmem"
)

// Members finds threads of live processes by the numbers that their locks have. It reads /proc.
type Members struct {
	pid            int
	others         []int       // processes that are looked at, too
	inner          map[int]int // nil until asked for
	inPIDNamespace bool
}

// NewMembers is for the locks of a process; others are the processes that are looked at besides.
func NewMembers(pid int, others []int) *Members {
	m := &Members{pid: pid}
	var s procmem.Status
	m.inPIDNamespace = procmem.ReadStatus(pid, &s) == nil && s.NSpidN > 1
	own := namespace(pid)
	for _, p := range others {
		if p != pid && namespace(p) == own && own != "" {
			m.others = append(m.others, p)
		}
	}
	return m
}

// namespace names the pid namespace of a process, "" if that is not told.
func namespace(pid int) string {
	link, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	return link
}

// Thread implements [Threads].
func (m *Members) Thread(inner int, shared bool) (int, bool) {
	if m.inPIDNamespace {
		return m.nestedThread(inner, shared)
	}
	if alive(m.pid, inner) {
		return inner, true
	}
	for i := 0; shared && i < len(m.others); i++ {
		if alive(m.others[i], inner) {
			return inner, true
		}
	}
	return 0, false
}

// nestedThread finds a thread by its number in the process's own pid namespace.
func (m *Members) nestedThread(inner int, shared bool) (int, bool) {
	if m.inner == nil {
		m.inner = map[int]int{}
		for _, pid := range append([]int{m.pid}, m.others...) {
			m.list(pid)
		}
	}
	tid, ok := m.inner[inner]
	if !ok || !alive(m.pid, tid) && !(shared && m.another(tid)) {
		return 0, false
	}
	return tid, true
}

// another reports whether a thread is one of the other processes'.
func (m *Members) another(tid int) bool {
	for _, pid := range m.others {
		if alive(pid, tid) {
			return true
		}
	}
	return false
}

// list takes note of the numbers of a process's threads in their own namespace.
func (m *Members) list(pid int) {
	entries, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	for _, e := range entries {
		tid, _ := strconv.Atoi(e.Name())
		var s procmem.Status
		if procmem.ReadStatus(tid, &s) == nil && s.NSpidN > 1 {
			m.inner[s.NSpid[s.NSpidN-1]] = tid
		}
	}
}

// alive reports whether a process has a thread of that number that has not ended.
func alive(pid, tid int) bool {
	var s procmem.Status
	return procmem.ReadStatus(tid, &s) == nil && s.Tgid == pid && s.State != 'Z' && s.State != 'X'
}

// Forget lets the numbers of a nested pid namespace be read anew.
func (m *Members) Forget() { m.inner = nil }
