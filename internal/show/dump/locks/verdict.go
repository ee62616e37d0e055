// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"slices"
	"strings"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/languages"
	"prywalk/internal/show/dump/stacks"
)

// Verdict is what is known of deadlocks among the sampled threads.
type Verdict string

// Verdicts, worst first.
const (
	// VerdictDeadlock means that a deadlock is proven.
	VerdictDeadlock Verdict = "deadlock"
	// VerdictPossible means a cycle with a likely owner, or a possibly starved pool.
	VerdictPossible Verdict = "possible"
	// VerdictUnknown means waits that are unknown or have no known owner, goroutines, tasks or virtual threads.
	VerdictUnknown Verdict = "unknown"
	// VerdictNone means that there is no cycle, and each wait for other threads ([waits.Kind.IsSynchronization]) that is
	// not idle has a known owner, or its object was free or changed owner. Waits for a descriptor, a child or the like are
	// ignored.
	VerdictNone Verdict = "none"
)

func (l *Locks) conclude() {
	l.GILCycles = l.gilCycles()
	l.addUnknownOwners()
	for _, t := range stacks.ThreadsOf(l.Processes) {
		switch {
		case strings.EqualFold(t.State, "T"):
			l.StoppedThreads++
		case t.Wait == "futex" && t.WaitsFor == nil: // as in a core of arm64
			l.ThreadsWithUnknownWait++
		}
	}
	l.ThreadsWithUnknownWait += l.StoppedThreads
	for _, p := range l.Processes {
		// threads that have ended or run wait for nothing; those refused for MaxPause ran
		l.ThreadsWithUnknownWait += p.CountFailed(errs.Zombie, errs.MaxPause, errs.Running)
		if p.Schedules(&languages.Go) {
			l.GoProcesses = append(l.GoProcesses, p.PID)
		}
	}
	for _, lang := range languages.All {
		runs := func(p *stacks.Process) bool { return p.Schedules(lang) }
		if lang.Unthreaded != "" && slices.ContainsFunc(l.Processes, runs) && !l.examines(lang) {
			l.ThreadlessTasks = append(l.ThreadlessTasks, lang.Unthreaded)
		}
	}
	for _, kind := range []string{languages.GreenletTask, languages.FiberTask} {
		if slices.ContainsFunc(l.Processes, func(p *stacks.Process) bool { return p.HasTasks(kind) }) {
			l.ThreadlessTasks = append(l.ThreadlessTasks, kind+"s")
		}
	}
	l.Verdict = l.verdict()
}

// The first of these that is not empty decides (docs/waiting.md):
//
//	Deadlocks                   proven cycles of threads                                         VerdictDeadlock
//	GoroutineDeadlocks          goroutines that nothing can wake                                 VerdictDeadlock
//	TaskDeadlocks               proven cycles with a virtual thread                              VerdictDeadlock
//	PossibleDeadlocks           cycles of threads through a likely owner                         VerdictPossible
//	PossibleGoroutineDeadlocks  cycles of goroutines through likely owners                       VerdictPossible
//	StarvedPools                pools whose threads all wait for results                         VerdictPossible
//	WaitersWithoutOwner         threads that wait for what has no known owner                    VerdictUnknown
//	UnsampledOwners             owners that were not sampled: they may wait, too                 VerdictUnknown
//	ThreadsWithUnknownWait      threads not readable, stopped, or in futex(2) for an unknown object  VerdictUnknown
//	GILCycles                   cycles through an interpreter's lock, which cannot be proven     VerdictUnknown
//	GoProcesses                 processes with goroutines, whose locks store no owner            VerdictUnknown
//	ThreadlessTasks             kinds of tasks that wait without a thread that shows it          VerdictUnknown
//	TasksWithoutOwner           virtual threads that wait for what has no known owner            VerdictUnknown
//	tasksLeftOut                virtual threads that were not read                               VerdictUnknown
//	Awaits                      JavaScript, whose promises store no owner                        VerdictUnknown
//	none of these                                                                                VerdictNone
func (l *Locks) verdict() Verdict {
	proven := len(l.Deadlocks) + len(l.GoroutineDeadlocks) + len(l.TaskDeadlocks)
	likely := len(l.PossibleDeadlocks) + len(l.PossibleGoroutineDeadlocks) + len(l.StarvedPools)
	unknown := len(l.WaitersWithoutOwner) + l.UnsampledOwners + l.ThreadsWithUnknownWait + len(l.GILCycles) +
		len(l.GoProcesses) + len(l.ThreadlessTasks) + l.TasksWithoutOwner + l.tasksLeftOut()
	for _, p := range l.Processes {
		if p.Awaits != nil {
			unknown++
		}
	}
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

// addUnknownOwners also counts the owners that were not sampled.
func (l *Locks) addUnknownOwners() {
	known := l.atKnownLocks()
	for _, t := range stacks.ThreadsOf(l.Processes) {
		w := t.WaitsFor
		if w != nil && w.Idle == "" && !w.Free && !hasOwner(w) && w.Kind.IsSynchronization() && !known[t.TID] {
			l.WaitersWithoutOwner = append(l.WaitersWithoutOwner, t.TID)
		}
	}
	for lock := range stacks.Each(l.Locks) {
		if lock.Owner == 0 || len(lock.Blocked()) == 0 || lock.OwnerThread != nil {
			continue
		}
		if t, _ := l.Thread(lock.Owner); t == nil {
			l.UnsampledOwners++
		}
	}
}

func (l *Locks) atKnownLocks() map[int]bool {
	out := map[int]bool{}
	for i := range l.Locks {
		if lock := &l.Locks[i]; hasOwner(&lock.Wait) || lock.Free || lock.Why == WhyChangedEachSample {
			for _, tid := range lock.Waiters {
				out[tid] = true
			}
		}
	}
	return out
}
