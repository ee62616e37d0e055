// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/dump/locks"
	"prywalk/internal/printable"
	"prywalk/internal/refusal"
)

func writePossibleDeadlock(b *strings.Builder, l *locks.Locks, cycle []int) {
	what := count(len(cycle), "thread") + " wait for each other"
	if len(cycle) == 1 {
		what = "a thread waits for a lock that it probably holds itself"
	}
	printable.Fprintf(b, "\nPOSSIBLE DEADLOCK: %s, if the inferred owners are right\n", what)
	for i, tid := range cycle {
		t, _ := l.Thread(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		printable.Fprintf(b, "  %s\n      %s%s\n", shownThreadName(l, tid), waitsLine(t),
			withSeparator(", in ", t.OwnPlace()))
		for _, m := range l.Locks {
			if len(m.Likely) == 1 && slices.Contains(m.Waiters, tid) && m.Likely[0].TID == cycle[(i+1)%len(cycle)] {
				printable.Fprintf(b, "      likely held by %s: %s\n", shownThreadName(l, m.Likely[0].TID), m.Likely[0].Evidence)
			}
		}
	}
}

func writeStarvedPool(b *strings.Builder, l *locks.Locks, s *locks.Starved) {
	who, wait := "all "+count(len(s.Threads), "thread"), "wait"
	if len(s.Threads) == 1 {
		who, wait = "the only thread", "waits"
	}
	unsampled := unsampledOf(l, s.PID)
	if unsampled > 0 {
		who = count(len(s.Threads), "thread")
	}
	printable.Fprintf(b, "\nPOSSIBLY STARVED POOL: %s of %s (%s) %s for results of tasks in %s\n", who, s.Pool, s.Loop,
		wait, s.WaitsIn)
	writePlaces(b, l, s.Threads)
	others := "no thread of another pool runs a task"
	if s.OthersWork > 0 {
		others = "running tasks of other pools, which may make these results: " + count(s.OthersWork, "thread")
	}
	printable.Fprintf(b, "  proven: none of these threads is free to run a task\n"+
		"  not proven: that the tasks are queued in this pool; if they are, the pool is stuck\n  %s\n", others)
	if unsampled > 0 {
		printable.Fprintf(b, "  not known: whether %s that could not be sampled %s to it\n", count(unsampled, "thread"),
			pluralForm(unsampled, "belongs", "belong"))
	}
}

// unsampledOf counts a process's live threads that were not sampled.
func unsampledOf(l *locks.Locks, pid int) (n int) {
	for _, p := range l.Processes {
		for reason, failed := range p.Failed {
			if p.PID == pid && reason != refusal.Exited.Word() && reason != refusal.Zombie.Word() {
				n += int(failed)
			}
		}
	}
	return n
}

func writeDeadlock(b *strings.Builder, l *locks.Locks, cycle []int) {
	what, since := count(len(cycle), "thread")+" wait for each other", ""
	if len(cycle) == 1 {
		what = "a thread waits for a lock that it holds itself"
	}
	if l.Watched > 0 {
		since = fmt.Sprintf("; none of them ran in %v", l.Watched)
	}
	printable.Fprintf(b, "\nDEADLOCK: %s%s\n", what, since)
	for _, tid := range cycle {
		t, _ := l.Thread(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		printable.Fprintf(b, "  %s\n      %s\n", shownThreadName(l, tid), waitsLine(t))
		if at := t.OwnPlace(); at != "" {
			printable.Fprintf(b, "      in %s\n", at)
		}
	}
}

func inCycle(l *locks.Locks, tid int) bool {
	in := func(cycle []int) bool { return slices.Contains(cycle, tid) }
	return slices.ContainsFunc(l.Deadlocks, in) || slices.ContainsFunc(l.Possible, in)
}

// Sentences gives one for each deadlock, proven ones first.
func Sentences(l *locks.Locks) (out []string) {
	for _, c := range l.Deadlocks {
		out = append(out, "DEADLOCK: "+sentence(l, c))
	}
	for _, c := range l.Possible {
		out = append(out, "POSSIBLE DEADLOCK: "+sentence(l, c))
	}
	return out
}

func sentence(l *locks.Locks, cycle []int) string {
	var parts []string
	for i, tid := range cycle {
		t, _ := l.Thread(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		next := cycle[(i+1)%len(cycle)]
		held := "held"
		if t.WaitsFor.Owner != next {
			held = "likely held"
		}
		thing := t.WaitsFor.Object()
		if at := t.OwnPlace(); at != "" {
			thing += " (in " + at + ")"
		}
		parts = append(parts, fmt.Sprintf("%s waits for %s, %s by %s", shownThreadName(l, tid), thing, held,
			shownThreadName(l, next)))
	}
	return strings.Join(slices.Clip(parts), "; ")
}
