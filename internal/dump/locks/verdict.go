// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"slices"
	"strings"

	"prywalk/internal/dump/stacks"
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

// conclude counts what is not known, and sets the verdict.
func (l *Locks) conclude() {
	l.GIL = l.gilCycles()
	l.addUnknownOwners()
	for _, p := range l.Processes {
		l.Unread += unreadThreads(p)
		if schedules(p, &languages.Go) {
			l.Go = append(l.Go, p.PID)
		}
	}
	for _, lang := range languages.All {
		runs := func(p *stacks.Process) bool { return schedules(p, lang) }
		if lang.Unthreaded != "" && slices.ContainsFunc(l.Processes, runs) {
			l.Unexamined = append(l.Unexamined, lang.Unthreaded)
		}
	}
	l.Verdict = l.verdict()
}

// verdict is the rule (docs/waiting.md): a proven cycle is a deadlock; else a cycle through likely owners, or a pool
// that may be starved, is a possible one; else there is none only if the wait of every blocked thread is known.
func (l *Locks) verdict() Verdict {
	proven := len(l.Deadlocks)
	likely := len(l.Possible) + len(l.PossibleGoroutines) + len(l.Starved)
	unknown := len(l.OwnerUnknown) + l.Unsampled + l.Unread + len(l.GIL) + len(l.Go) + len(l.Unexamined)
	switch {
	case proven > 0:
		return VerdictDeadlock
	case likely > 0:
		return VerdictPossible
	case unknown > 0:
		return VerdictUnknown
	}
	return VerdictNone
}

// addUnknownOwners lists the threads that wait for something without a known owner, and counts the owners whose own
// wait is not known.
func (l *Locks) addUnknownOwners() {
	known := l.atKnownLocks()
	for _, p := range l.Processes {
		for i := range p.Threads {
			if t := &p.Threads[i]; lacksOwner(t) && !known[t.TID] {
				l.OwnerUnknown = append(l.OwnerUnknown, t.TID)
			}
		}
	}
	for i := range l.Locks {
		m := &l.Locks[i]
		if t, _ := l.Thread(m.Owner); m.Owner != 0 && len(m.Blocked()) > 0 && m.OwnerThread == nil && t == nil {
			l.Unsampled++
		}
	}
}

// schedules reports whether a thread of the process runs tasks of a language.
func schedules(p *stacks.Process, l *languages.Language) bool {
	return l.Schedules != nil && slices.ContainsFunc(p.Threads, func(t stacks.Thread) bool {
		return l.Schedules(t.Name, "", "", "") || slices.ContainsFunc(t.Frames, func(f stacks.Frame) bool {
			return l.Schedules(t.Name, f.Function, f.File, f.Module)
		})
	})
}

func lacksOwner(t *stacks.Thread) bool {
	w := t.WaitsFor
	return w != nil && w.Idle == "" && !w.Free && w.Owner == 0 && w.Kind.IsSynchronization()
}

func unreadThreads(p *stacks.Process) (n int) {
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
		if m := &l.Locks[i]; m.Owner != 0 || m.Free || m.Why == WhyChangedEachSample {
			for _, tid := range m.Waiters {
				out[tid] = true
			}
		}
	}
	return out
}
