// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"maps"
	"os"
	"slices"
	"strconv"

	"prywalk/internal/host/procmem"
)

// LiveThreads implements [ThreadFinder] for live processes, from /proc.
type LiveThreads struct {
	pid            int
	others         []int       // observed processes in pid's pid namespace, for locks in shared memory
	byInnerTID     map[int]int // threads by their IDs in pid's namespace; nil until used
	inPIDNamespace bool
}

// NewLiveThreads finds threads for the locks of process pid; others are the other observed processes.
func NewLiveThreads(pid int, others []int) *LiveThreads {
	m := &LiveThreads{pid: pid}
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

func namespace(pid int) string {
	link, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	return link
}

// Thread implements [ThreadFinder].
func (t *LiveThreads) Thread(innerTID int, shared bool) (tid int, ok bool) {
	if tid = innerTID; t.inPIDNamespace {
		tid = t.byInner()[innerTID]
	}
	if isAlive(t.pid, tid) || shared && slices.ContainsFunc(t.others, func(pid int) bool { return isAlive(pid, tid) }) {
		return tid, true
	}
	return 0, false
}

func (t *LiveThreads) byInner() map[int]int {
	if t.byInnerTID == nil {
		t.byInnerTID = threadsByInnerTID(t.pid)
		for _, pid := range t.others {
			maps.Copy(t.byInnerTID, threadsByInnerTID(pid))
		}
	}
	return t.byInnerTID
}

func threadsByInnerTID(pid int) map[int]int {
	ids := map[int]int{}
	entries, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	for _, e := range entries {
		tid, _ := strconv.Atoi(e.Name())
		var s procmem.Status
		if procmem.ReadStatus(tid, &s) == nil && s.NSpidN > 0 {
			ids[s.NSpid[s.NSpidN-1]] = tid
		}
	}
	return ids
}

// Parent implements [ThreadFinder].
func (t *LiveThreads) Parent(innerTID int) int {
	var s procmem.Status
	if procmem.ReadStatus(t.pid, &s) != nil || namespace(s.PPid) != namespace(t.pid) {
		return 0
	}
	tid := innerTID
	if t.inPIDNamespace {
		tid = threadsByInnerTID(s.PPid)[innerTID]
	}
	if !isAlive(s.PPid, tid) {
		return 0
	}
	return s.PPid
}

func isAlive(pid, tid int) bool {
	var s procmem.Status
	return procmem.ReadStatus(tid, &s) == nil && s.Tgid == pid && s.State != 'Z' && s.State != 'X'
}

// Invalidate makes the next use read the IDs of a nested pid namespace again.
func (t *LiveThreads) Invalidate() { t.byInnerTID = nil }
