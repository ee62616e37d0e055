// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/base/tabular"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

func waitersText(l *locks.Locks, blocked []*locks.Lock) string {
	threads, lockCount, others := 0, 0, 0
	var parts reasons
	for _, lock := range blocked {
		n := len(lock.Blocked())
		threads += n
		switch {
		case lock.Kind == waits.DatabaseLock && lock.Type != "":
			parts.add(n, waiting(n, "thread")+" for "+lock.Object())
			threads -= n
		case lock.Kind == waits.DatabaseLock: // one or several
			parts.add(n, waiting(n, "process")+" for locks of PostgreSQL")
			threads -= n
		case lock.IsLock():
			lockCount++
		default:
			others++
		}
	}
	parts.add(threads, waiting(threads, "thread")+" for "+objects(lockCount, others))
	goroutines := 0
	lockCount = 0
	for i := range l.GoroutineLocks {
		if lock := &l.GoroutineLocks[i]; lock.IsLock() {
			goroutines, lockCount = goroutines+len(lock.Waiters), lockCount+1
		}
	}
	parts.add(goroutines, fmt.Sprintf("%s for %s", waiting(goroutines, "goroutine"), count(lockCount, "lock")))
	virtual := 0
	for i := range l.TaskLocks {
		virtual += len(l.TaskLocks[i].Waiters)
	}
	parts.add(virtual, waiting(virtual, "virtual thread"))
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case l.ThreadsWithUnknownWait > 0:
		return "no thread is known to wait for a lock"
	case len(l.GoProcesses) > 0 && examinesGoroutines(l):
		return "no thread or goroutine waits for a lock"
	}
	return "no thread waits for a lock"
}

func objects(locks, others int) string {
	switch {
	case others == 0:
		return count(locks, "lock")
	case locks == 0:
		return count(others, "object")
	}
	return count(locks, "lock") + " and " + count(others, "other object")
}

func verdictText(l *locks.Locks) string {
	if text := problemsText(l); text != "" {
		return text
	}
	if l.Verdict == locks.VerdictNone {
		return "no deadlock"
	}
	return "deadlock unknown" + withSeparator(": ", strings.Join(unknownTexts(l), "; "))
}

func problemsText(l *locks.Locks) string {
	var parts reasons
	add := func(n int, one, other string) { parts.add(n, strconv.Itoa(n)+" "+tabular.Form(n, one, other)) }
	add(len(l.Deadlocks)+len(l.GoroutineDeadlocks)+len(l.TaskDeadlocks), "DEADLOCK", "DEADLOCKS")
	add(len(l.PossibleDeadlocks)+len(l.PossibleGoroutineDeadlocks), "POSSIBLE DEADLOCK", "POSSIBLE DEADLOCKS")
	add(len(l.StarvedPools), "POSSIBLY STARVED POOL", "POSSIBLY STARVED POOLS")
	return strings.Join(parts, ", ")
}

func unknownTexts(l *locks.Locks) []string {
	var why reasons
	ownerless := ownerlessText(l)
	why.add(len(ownerless), ownerless)
	for _, c := range l.GILCycles {
		why.add(1, fmt.Sprintf("%d threads wait for each other through the GIL, which cannot be proven", len(c)))
	}
	why.add(l.UnsampledOwners, "the stack of "+count(l.UnsampledOwners, "owner")+" is not known")
	n := l.StoppedThreads
	why.add(n, count(n, "thread")+" "+tabular.Form(n, "is", "are")+" stopped by a signal or a debugger (SIGCONT, "+
		"or the debugger, continues "+tabular.Form(n, "it", "them")+")")
	n = l.ThreadsWithUnknownWait - l.StoppedThreads
	why.add(n, fmt.Sprintf("what %s for is not known (not readable, as in state D; or in futex for an unknown object)",
		waiting(n, "thread")))
	if len(l.GoProcesses) > 0 {
		why.add(1, goroutinesText(l))
	}
	why.add(len(l.ThreadlessTasks), strings.Join(l.ThreadlessTasks, " and ")+" are not examined")
	for _, p := range l.Processes {
		if text := Unexamined(p); text != "" {
			_, still, _ := strings.Cut(text, "; ")
			why.add(1, still)
		}
		pending := p.PendingTasks()
		why.add(len(pending), pending)
	}
	why.add(l.TasksWithoutOwner, "what can wake "+count(l.TasksWithoutOwner, "virtual thread")+" is not known")
	for _, p := range l.Processes {
		if v := p.VirtualThreads; v != nil && (v.LeftOut() > 0 || v.Untracked) {
			why.add(1, virtualThreadsText(v))
		}
		if a := p.Awaits; a != nil {
			text := "promises store no owner (" + suspendedText(a) + ")"
			if a.Pending+a.Unproven+a.More > 0 || a.Cut {
				text += fmt.Sprintf("; prywalk dump -p %d lists the functions", p.PID)
			}
			why.add(1, text)
		}
	}
	// the owners of what only idle threads wait for, as for the main thread of Java, are not shown
	if slices.ContainsFunc(l.Locks, func(lock locks.Lock) bool { return lock.Owner != 0 && len(lock.Blocked()) > 0 }) {
		other := ""
		if len(l.GILCycles) > 0 {
			other = "other "
		}
		why.add(1, "no "+other+"cycle among the known owners")
	}
	return why
}

func ownerlessText(l *locks.Locks) string {
	left := map[int]bool{}
	for _, tid := range l.WaitersWithoutOwner {
		left[tid] = true
	}
	likely, none, ended, forked, files, database, sqlite, noun := 0, 0, 0, 0, 0, 0, 0, "lock"
	for lock := range stacks.Each(l.Locks) {
		if !slices.ContainsFunc(lock.Waiters, func(tid int) bool { return left[tid] }) {
			continue
		}
		for _, tid := range lock.Waiters {
			delete(left, tid)
		}
		switch {
		case len(lock.Likely) > 0:
			likely++
		case lock.OwnerProcess != 0:
			files++
		case lock.Kind == waits.DatabaseLock && lock.Type != "":
			sqlite++
		case lock.Kind == waits.DatabaseLock:
			database++
		case lock.OwnerParent != 0:
			forked++
		case lock.OwnerGone != 0:
			ended++
		default:
			if none++; !lock.IsLock() {
				noun = "object"
			}
		}
	}
	var parts reasons
	parts.add(ended, count(ended, "lock")+" "+tabular.Form(ended, "was", "were")+" taken by a thread that has ended")
	parts.add(forked, count(forked, "lock")+" "+tabular.Form(forked, "was", "were")+
		" taken by a thread of the parent process before the fork")
	parts.add(likely+none, ofOwners(likely, none, noun))
	parts.add(files, "which thread holds "+count(files, "file lock")+" is not known")
	parts.add(database, "which process holds a lock of PostgreSQL is not known")
	parts.add(sqlite, "which thread or process holds SQLite's lock is not known")
	return strings.Join(parts, "; ")
}

func goroutinesText(l *locks.Locks) string {
	if !examinesGoroutines(l) {
		return "locks that goroutines wait for are not examined"
	}
	likely, none := 0, 0
	for i := range l.GoroutineLocks {
		switch lock := &l.GoroutineLocks[i]; {
		case !lock.IsLock():
		case len(lock.Likely) > 0:
			likely++
		default:
			none++
		}
	}
	text := "Go's locks and channels store no owner"
	if owners := ofOwners(likely, none, "lock"); owners != "" {
		text += " (" + owners + ")"
	}
	return text
}

// ofOwners returns "2 locks have a likely owner only" or "1 of 3 locks has …, 2 have …".
func ofOwners(likely, none int, noun string) string {
	switch {
	case likely+none == 0:
		return ""
	case likely == 0:
		return count(none, noun) + " " + tabular.Form(none, "has", "have") + " no known owner"
	case none == 0:
		return count(likely, noun) + " " + tabular.Form(likely, "has", "have") + " a likely owner only"
	}
	return fmt.Sprintf("%d of %s %s a likely owner only, %d %s none",
		likely, count(likely+none, noun), tabular.Form(likely, "has", "have"), none, tabular.Form(none, "has", "have"))
}

func examinesGoroutines(l *locks.Locks) bool {
	return !slices.ContainsFunc(l.Processes, func(p *stacks.Process) bool {
		return slices.Contains(l.GoProcesses, p.PID) && p.GoroutineStacks == nil
	})
}
