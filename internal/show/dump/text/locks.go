// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// WriteLocks writes problems, locks with waiters and owner, and idle threads.
func WriteLocks(w io.Writer, l *locks.Locks) error {
	var b strings.Builder
	for _, p := range l.Processes {
		writeHeading(&b, p, count(len(p.Threads), "thread"))
		if p.WaitingText != "" {
			printable.Fprintf(&b, "%s\n", p.WaitingText)
		}
	}
	blocked, idle := byIdleness(l)
	printable.Fprintf(&b, "%s; %s\n", waitersText(l, blocked), verdictText(l))
	if n := l.UnreadChildren; n > 0 {
		printable.Fprintf(&b, "not read: %s (--children reads those that it may)\n", count(n, "child process"))
	}
	for _, c := range l.Deadlocks {
		writeDeadlock(&b, l, c)
	}
	for _, c := range l.PossibleDeadlocks {
		writePossibleDeadlock(&b, l, c)
	}
	writeOnlyThreads(&b, l)
	writeTaskLocks(&b, l)
	writeGoroutineDeadlocks(&b, l)
	writeGoroutineLocks(&b, l)
	for i := range l.StarvedPools {
		writeStarvedPool(&b, l, &l.StarvedPools[i])
	}
	for _, lock := range blocked {
		writeLock(&b, l, lock)
	}
	writePeers(&b, l)
	for _, p := range l.Processes {
		writeUnanswered(&b, p, fmt.Sprintf("%s (pid %d): ", p.Name, p.PID))
	}
	writeChannels(&b, l)
	writeIdle(&b, l, idle)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeLock(b *strings.Builder, l *locks.Locks, lock *locks.Lock) {
	printable.Fprintf(b, "\n%s%s\n", lockLabel(lock), lockDetails(lock))
	waiters := lock.Blocked()
	printable.Fprintf(b, "  waiting: %s\n", printable.Raw(shownThreadNames(l, waiters)))
	writePlaces(b, l, waiters)
	for i := range lock.Likely {
		writeLikelyOwner(b, l, lock, &lock.Likely[i])
	}
	// Which releases have such owners: holds.go of package cpython.
	if lock.Type == languages.PythonLock && lock.Owner == 0 && len(lock.Likely) == 0 {
		b.WriteString("  owner not known: no stack shows a \"with\" of it (acquire() leaves no trace, nor does a " +
			"thread that ran while it was read: dump again; nor CPython before 3.11)\n")
	}
	switch {
	case lock.OwnerProcess != 0 && len(lock.Likely) == 0:
		writeOwnerProcess(b, l, lock.OwnerProcess)
		return
	case lock.OwnerTask != 0:
		writeOwnerTask(b, l, lock.PID, &lock.Wait)
		return
	case lock.Owner == 0:
		return
	case lock.OwnerThread == nil:
		printable.Fprintf(b, "  held by %s, whose stack is not known\n", shownThreadName(l, lock.Owner))
		return
	}
	held := "held by"
	if lock.Kind == waits.Join {
		held = "awaited:"
	}
	printable.Fprintf(b, "  %s %s,%s\n", held, shownThreadName(l, lock.Owner), stateText(lock.OwnerThread))
	writeWait(b, lock.OwnerThread)
	if !inCycle(l, lock.Owner) {
		writeStack(b, lock.OwnerThread, false)
	}
}

// writeOwnerProcess writes the threads of the process that took a file lock: any of them may release it.
func writeOwnerProcess(b *strings.Builder, l *locks.Locks, pid int) {
	p := l.Process(pid)
	if p == nil {
		printable.Fprintf(b, "  what that process does: prywalk dump -p %d\n", pid)
		return
	}
	threads := p.Threads
	for t := range stacks.Each(threads[:min(len(threads), maxShown)]) {
		printable.Fprintf(b, "  its thread %d %s,%s\n", t.TID, shownName(t), stateText(t))
		writeWait(b, t)
	}
	if more := len(threads) - maxShown; more > 0 {
		printable.Fprintf(b, "  and %d more\n", more)
	}
}

func writeLikelyOwner(b *strings.Builder, l *locks.Locks, lock *locks.Lock, o *locks.LikelyOwner) {
	t, _ := l.Thread(o.TID)
	if t == nil {
		printable.Fprintf(b, "  likely held by %s\n      %s\n", shownThreadName(l, o.TID), o.Evidence)
		return
	}
	printable.Fprintf(b, "  likely held by %s,%s\n      %s\n", shownThreadName(l, o.TID), stateText(t), o.Evidence)
	writeWait(b, t)
	if len(lock.Likely) == 1 && !inCycle(l, o.TID) {
		writeStack(b, t, false)
	}
}

func lockLabel(lock *locks.Lock) string {
	switch {
	case lock.Symbol != "":
	case lock.Kind == waits.Join && lock.Owner != 0:
		return fmt.Sprintf("join of thread %d", lock.Owner)
	case lock.Kind == waits.Semaphore || lock.Address == 0:
		return lock.Object()
	}
	return labelAt(string(lock.Kind), lock.Symbol, lock.Address)
}

func labelAt(kind, symbol string, address schema.Hex) string {
	if symbol != "" {
		return fmt.Sprintf("%s %s (%#x)", kind, symbol, uint64(address))
	}
	return fmt.Sprintf("%s %#x", kind, uint64(address))
}

func lockDetails(lock *locks.Lock) string {
	text := withSeparator(", ", lock.Type)
	if lock.Kind == waits.Semaphore || lock.Kind == waits.DatabaseLock { // in its label
		text = ""
	}
	switch {
	case lock.Owner != 0:
	case lock.OwnerProcess != 0:
		text += ", " + lock.OwnerProcessText()
	case lock.OwnerGone != 0:
		text += ", " + lock.EndedOwnerText()
	case lock.Readers > 0:
		text += ", held by " + count(lock.Readers, "reader")
	case lock.Why == "" && lock.Free:
		text += ": free when it was read"
	default:
		text += withSeparator(": ", lock.Why)
	}
	return text + withSeparator(" ", lock.Mark())
}

func shownThreadNames(l *locks.Locks, tids []int) string {
	var list []string
	for _, tid := range tids[:min(len(tids), maxShown)] {
		list = append(list, shownThreadName(l, tid))
	}
	text := strings.Join(list, ", ")
	if n := len(tids) - maxShown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func shownThreadName(l *locks.Locks, tid int) string {
	t, p := l.Thread(tid)
	if t == nil {
		return fmt.Sprintf("thread %d", tid)
	}
	name := printable.Sprintf("%d %s", tid, shownName(t))
	if len(l.Processes) > 1 {
		name += fmt.Sprintf(" of process %d", p.PID)
	}
	return name
}

func writePlaces(b *strings.Builder, l *locks.Locks, tids []int) {
	var places []string
	for _, tid := range tids {
		if t, _ := l.Thread(tid); t != nil {
			place := t.OwnPlace()
			if t.WaitsFor != nil && t.WaitsFor.Kind == waits.DatabaseLock {
				place = cmp.Or(scriptPlace(t), place)
			}
			places = append(places, place)
		}
	}
	noun := "thread"
	if len(tids) == 1 {
		noun = ""
	}
	writeFrequent(b, places, noun)
}

const maxPlaces = 5

func writeFrequent(b *strings.Builder, all []string, noun string) {
	times := map[string]int{}
	var places []string
	for _, place := range all {
		if times[place]++; times[place] == 1 && place != "" {
			places = append(places, place)
		}
	}
	slices.SortStableFunc(places, func(a, b string) int { return times[b] - times[a] })
	for _, place := range places[:min(len(places), maxPlaces)] {
		counted := ""
		if noun != "" {
			counted = " (" + count(times[place], noun) + ")"
		}
		printable.Fprintf(b, "      in %s%s\n", place, counted)
	}
	if n := len(places) - maxPlaces; n > 0 {
		printable.Fprintf(b, "      and at %s\n", count(n, "more place"))
	}
}
