// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/dump/locks"
)

func cycleText(n int, noun, holds string) string {
	if n == 1 {
		return "a " + noun + " waits for a lock that it " + holds + " itself"
	}
	return count(n, noun) + " wait for each other"
}

func isOnlyThread(l *locks.Locks, cycle []int) bool {
	return slices.ContainsFunc(l.OnlyThreads, func(c []int) bool { return slices.Equal(c, cycle) })
}

func writePossibleDeadlock(b *strings.Builder, l *locks.Locks, cycle []int) {
	if isOnlyThread(l, cycle) {
		return
	}
	printable.Fprintf(b, "\nPOSSIBLE DEADLOCK: %s, if the inferred owners are right\n",
		cycleText(len(cycle), "thread", "probably holds"))
	for i, tid := range cycle {
		t, _ := l.Thread(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		printable.Fprintf(b, "  %s\n      %s%s\n", shownThreadName(l, tid), waitsLine(t),
			withSeparator(", in ", t.OwnPlace()))
		for _, lock := range l.Locks {
			if len(lock.Likely) != 1 || !slices.Contains(lock.Waiters, tid) {
				continue
			}
			if owner := &lock.Likely[0]; owner.TID == cycle[(i+1)%len(cycle)] {
				printable.Fprintf(b, "      likely held by %s: %s\n", shownThreadName(l, owner.TID), owner.Evidence)
			}
		}
	}
}

// writeOnlyThreads writes those that wait in the same way together.
func writeOnlyThreads(b *strings.Builder, l *locks.Locks) {
	waitOf := func(c *[]int) string {
		t, _ := l.Thread((*c)[0])
		if t == nil {
			return ""
		}
		return waitsLine(t) + withSeparator(", in ", t.OwnPlace())
	}
	for _, alike := range groupBy(l.OnlyThreads, waitOf) {
		who := "a process's only thread waits for a lock of that process"
		if len(alike) > 1 {
			who = fmt.Sprintf("the only threads of %d processes wait, each for a lock of its own process", len(alike))
		}
		var tids []int
		for _, c := range alike {
			tids = append(tids, (*c)[0])
		}
		printable.Fprintf(b, "\nPOSSIBLE DEADLOCK: %s, which no other thread can release\n  %s\n      %s\n", who,
			printable.Raw(shownThreadNames(l, tids)), waitOf(alike[0]))
	}
}

func writeStarvedPool(b *strings.Builder, l *locks.Locks, s *locks.StarvedPool) {
	who, wait := "all "+count(len(s.Threads), "thread"), "wait"
	if len(s.Threads) == 1 {
		who, wait = "the only thread", "waits"
	}
	unsampled := l.Process(s.PID).CountFailed(errs.Zombie)
	if unsampled > 0 {
		who = count(len(s.Threads), "thread")
	}
	if s.WaitsIn == "" {
		printable.Fprintf(b, "\nPOSSIBLY STARVED POOL: %s of %s %s pinned, the first by %s; ready, without a carrier: %s\n",
			who, s.Pool, tabular.Form(len(s.Threads), "is", "are"), s.PinnedBy, count(s.Ready, "virtual thread"))
		writePlaces(b, l, s.Threads)
		b.WriteString("  proven: none of these threads is free to run a virtual thread\n" +
			"  not proven: that what they wait for needs one of those that are ready; if it does, the pool is stuck\n")
	} else {
		printable.Fprintf(b, "\nPOSSIBLY STARVED POOL: %s of %s (%s) %s for results of tasks in %s\n", who, s.Pool, s.Loop,
			wait, s.WaitsIn)
		writePlaces(b, l, s.Threads)
		others := "no thread of another pool runs a task"
		if s.OthersWork > 0 {
			others = "running tasks of other pools, which may make these results: " + count(s.OthersWork, "thread")
		}
		printable.Fprintf(b, "  proven: none of these threads is free to run a task\n"+
			"  not proven: that the tasks are queued in this pool; if they are, the pool is stuck\n  %s\n", others)
	}
	if unsampled > 0 {
		printable.Fprintf(b, "  not known: whether %s that could not be sampled %s to it\n", count(unsampled, "thread"),
			tabular.Form(unsampled, "belongs", "belong"))
	}
}

func writeDeadlock(b *strings.Builder, l *locks.Locks, cycle []int) {
	since := ""
	if l.UnchangedFor > 0 {
		since = fmt.Sprintf("; none of them ran in %v", l.UnchangedFor)
	}
	printable.Fprintf(b, "\nDEADLOCK: %s%s\n", cycleText(len(cycle), "thread", "holds"), since)
	for _, tid := range cycle {
		t, _ := l.Thread(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		printable.Fprintf(b, "  %s\n      %s\n", shownThreadName(l, tid), waitsLine(t))
		if place := t.OwnPlace(); place != "" {
			printable.Fprintf(b, "      in %s\n", place)
		}
	}
}

func inCycle(l *locks.Locks, tid int) bool {
	hasThread := func(cycle []int) bool { return slices.Contains(cycle, tid) }
	return slices.ContainsFunc(l.Deadlocks, hasThread) || slices.ContainsFunc(l.PossibleDeadlocks, hasThread)
}

// Sentences returns one for each deadlock, proven ones first.
func Sentences(l *locks.Locks) (out []string) {
	for _, c := range l.Deadlocks {
		out = append(out, "DEADLOCK: "+sentence(l, c))
	}
	for _, c := range l.PossibleDeadlocks {
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
		if isOnlyThread(l, cycle) {
			return fmt.Sprintf("%s, its process's only thread, waits for %s%s%s: no other thread can release it",
				shownThreadName(l, tid), t.WaitsFor.Object(), t.WaitsFor.OwnerText(), withSeparator(", in ", t.OwnPlace()))
		}
		next := cycle[(i+1)%len(cycle)]
		held := "held"
		if t.WaitsFor.Owner != next {
			held = "likely held"
		}
		thing := t.WaitsFor.Object()
		if place := t.OwnPlace(); place != "" {
			thing += " (in " + place + ")"
		}
		parts = append(parts, fmt.Sprintf("%s waits for %s, %s by %s", shownThreadName(l, tid), thing, held,
			shownThreadName(l, next)))
	}
	return strings.Join(parts, "; ")
}
