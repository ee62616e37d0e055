// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"slices"
	"strings"

	"prywalk/internal/waits"
)

// lastLock is what a thread was last seen to wait for, and who had it.
type lastLock struct {
	what  string
	owner int
}

// suspects are the threads that wait for locks when the recording ends.
type suspects struct {
	waitsFor map[int]int // which thread waits for which
	pids     map[int]int // of these threads
	unowned  map[int]int // by process: threads at locks of CPython that store no owner
}

// mostUnowned is how many such threads a process has at least, if they can wait for each other.
const mostUnowned = 2

// note takes note of a thread that lives on when the recording ends.
func (s *suspects) note(th *threadAccount) {
	if s.pids == nil {
		s.waitsFor, s.pids, s.unowned = map[int]int{}, map[int]int{}, map[int]int{}
	}
	pid := th.proc.Target.PID
	s.pids[th.TID] = pid
	switch {
	case th.lock.owner > 0:
		s.waitsFor[th.TID] = th.lock.owner
	case strings.HasPrefix(th.lock.what, string(waits.Semaphore)):
		for _, n := range th.proc.Target.Namers() {
			if strings.HasPrefix(n.Name(), "CPython ") {
				s.unowned[pid]++
			}
		}
	}
}

// Suspects gives the processes in which threads may be in a deadlock when the recording ends: they wait for each other
// by the owners that were read, or at locks of which stacks may show the owner. A further look has to prove it.
func (a *Accountant) Suspects() (pids []int) {
	for _, cycle := range waits.Cycles(a.suspects.waitsFor) {
		for _, tid := range cycle {
			pids = append(pids, a.suspects.pids[tid])
		}
	}
	for pid, n := range a.suspects.unowned {
		if n >= mostUnowned {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return slices.DeleteFunc(slices.Compact(pids), func(pid int) bool { return pid == 0 })
}
