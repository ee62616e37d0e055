// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"slices"
	"strings"

	"prywalk/internal/languages"
	"prywalk/internal/target"
	"prywalk/internal/waits"
)

type deadlockSuspects struct {
	waitsFor map[int]int // waiter to owner
	pids     map[int]int
	unowned  map[int]int // by process: waiters at a language's locks without a stored owner
}

// minUnowned is the least unowned of a deadlock.
const minUnowned = 2

func (s *deadlockSuspects) noteAlive(th *target.Thread) {
	if s.pids == nil {
		s.waitsFor, s.pids, s.unowned = map[int]int{}, map[int]int{}, map[int]int{}
	}
	pid := th.Proc.Target.PID
	s.pids[th.TID] = pid
	switch {
	case th.Walk.Owner > 0:
		s.waitsFor[th.TID] = th.Walk.Owner
	case strings.HasPrefix(th.Walk.WaitsFor, string(waits.Semaphore)):
		for _, n := range th.Proc.Target.Runtimes().FrameSources() {
			if l := languages.OfSystem(n.Name()); l != nil && l.BareLocks {
				s.unowned[pid]++
			}
		}
	}
}

// Suspects returns the processes with possible deadlocks: cycles of known owners, or several waiters at locks whose
// owner only stacks show.
func (a *Aggregator) Suspects() []int { return a.suspects.processes() }

func (s *deadlockSuspects) processes() (pids []int) {
	for _, cycle := range waits.Cycles(s.waitsFor) {
		for _, tid := range cycle {
			pids = append(pids, s.pids[tid])
		}
	}
	for pid, n := range s.unowned {
		if n >= minUnowned {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return slices.DeleteFunc(slices.Compact(pids), func(pid int) bool { return pid == 0 })
}
