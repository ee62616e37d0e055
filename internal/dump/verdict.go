// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"slices"
	"strings"

	"prywalk/internal/languages"
	"prywalk/internal/refusal"
)

// Verdict is what is known of deadlocks among the sampled threads.
type Verdict string

// The verdicts, worst first.
const (
	// VerdictDeadlock means that a deadlock is proven.
	VerdictDeadlock Verdict = "deadlock"
	// VerdictPossible means a cycle with a likely owner, or a possibly starved pool.
	VerdictPossible Verdict = "possible"
	// VerdictUnknown means waits without a known owner, threads whose waits are not known, or goroutines, tasks
	// or virtual threads.
	VerdictUnknown Verdict = "unknown"
	// VerdictNone means that there is no cycle, and that each wait that is not idle has a known owner, or is for a lock
	// that was free or changed owner.
	VerdictNone Verdict = "none"
)

func (l *Locks) conclude() {
	l.addUnknown()
	l.Verdict = l.verdict()
}

func (l *Locks) addUnknown() {
	known := l.atKnownLocks()
	l.GIL = l.gilCycles()
	for i := range l.Locks {
		m := &l.Locks[i]
		if t, _ := l.thread(m.Owner); m.Owner != 0 && len(m.blocked()) > 0 && m.OwnerThread == nil && t == nil {
			l.unsampled++
		}
	}
	for _, p := range l.Processes {
		l.Unread += p.unread()
		if p.schedules(&languages.Go) {
			l.Go = append(l.Go, p.PID)
		}
		for i := range p.Threads {
			if t := &p.Threads[i]; t.lacksOwner() && !known[t.TID] {
				l.OwnerUnknown = append(l.OwnerUnknown, t.TID)
			}
		}
	}
	for _, lang := range languages.All {
		if lang.Unthreaded != "" && slices.ContainsFunc(l.Processes, func(p *Process) bool { return p.schedules(lang) }) {
			l.Unexamined = append(l.Unexamined, lang.Unthreaded)
		}
	}
}

func (p *Process) schedules(l *languages.Language) bool {
	return l.Schedules != nil && slices.ContainsFunc(p.Threads, func(t Thread) bool {
		return l.Schedules(t.Name, "", "", "") || slices.ContainsFunc(t.Frames, func(f Frame) bool {
			return l.Schedules(t.Name, f.Function, f.File, f.Module)
		})
	})
}

func (l *Locks) verdict() Verdict {
	switch {
	case len(l.Deadlocks) > 0:
		return VerdictDeadlock
	case len(l.Possible) > 0 || len(l.Starved) > 0 || len(l.PossibleGoroutines) > 0:
		return VerdictPossible
	case len(l.OwnerUnknown)+len(l.Go)+len(l.GIL)+len(l.Unexamined)+l.Unread+l.unsampled > 0:
		return VerdictUnknown
	}
	return VerdictNone
}

func (t *Thread) lacksOwner() bool {
	w := t.WaitsFor
	return w != nil && w.Idle == "" && !w.Free && w.Owner == 0 && w.Kind.IsSynchronization()
}

func (p *Process) unread() (n int) {
	for reason, failed := range p.Failed {
		if !slices.Contains(waitForNothing, reason) {
			n += int(failed)
		}
	}
	for i := range p.Threads {
		if strings.EqualFold(p.Threads[i].State, "T") {
			n++
		}
	}
	return n
}

// waitForNothing are reasons of failures: the thread has ended, or runs.
var waitForNothing = []string{
	refusal.Exited.Word(), refusal.Zombie.Word(), refusal.MaxPause.Word(), refusal.Running.Word(),
}

func (l *Locks) atKnownLocks() map[int]bool {
	out := map[int]bool{}
	for i := range l.Locks {
		if m := &l.Locks[i]; m.Owner != 0 || m.Free || m.Why == ownerChanges {
			for _, tid := range m.Waiters {
				out[tid] = true
			}
		}
	}
	return out
}
