// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// writeMergedTasks writes virtual threads, greenlets and fibers.
func writeMergedTasks(b *strings.Builder, p *stacks.Process) {
	for t := range stacks.Each(p.Tasks) {
		switch {
		case t.ID == 0:
			continue
		case t.Count == 1:
			title := taskNoun(t) + " " + t.Names[0]
			if t.Kind == stacks.VirtualThreadKind {
				title = fmt.Sprintf("virtual thread #%d %s", t.ID, t.Name)
			}
			printable.Fprintf(b, "\n%s %s (%s)\n", t.State, title, howText(t.How))
		default:
			printable.Fprintf(b, "\n%d %s %ss (%s)\n", t.Count, t.State, taskNoun(t), howText(t.How))
			names := strings.Join(t.Names, ", ")
			if more := t.Count - len(t.Names); more > 0 {
				names += fmt.Sprintf(" and %d more", more)
			}
			printable.Fprintf(b, "  %s\n", names)
		}
		writeTaskWait(b, t)
	}
	if text := virtualThreadsText(p.VirtualThreads); text != "" {
		printable.Fprintf(b, "\n%s\n", text)
	}
}

func taskNoun(t *stacks.Task) string { return strings.ReplaceAll(t.Kind, "-", " ") }

func writeTaskWait(b *strings.Builder, t *stacks.Task) {
	if t.WaitsFor != nil {
		printable.Fprintf(b, "      waits for %s\n", t.WaitsFor)
	}
	writeFrames(b, t.Frames)
}

// virtualThreadsText says how many virtual threads there are, and which are not shown and why, or "" without any.
func virtualThreadsText(v *stacks.VirtualThreads) string {
	if v == nil || v.Total+v.LeftOut() == 0 && !v.Untracked {
		return ""
	}
	parts := reasons{count(v.Total, "virtual thread")}
	add := func(n int, why string) { parts.add(n, fmt.Sprintf("%d %s", n, why)) }
	add(v.Mounted, tabular.Form(v.Mounted, "has its", "have their")+" frames on a thread's stack above")
	add(v.Changed, "changed during each reading, and "+tabular.Form(v.Changed, "is", "are")+" not shown")
	add(v.Unproven, tabular.Form(v.Unproven, "has a stack", "have stacks")+" that cannot be proven, and "+
		tabular.Form(v.Unproven, "is", "are")+" not shown")
	add(v.Unlisted, "parts of the lists of virtual threads could not be read: repeat the dump")
	if v.Untracked {
		parts.add(1, "only those of executors are listed, as the program runs with -Djdk.trackAllThreads=false")
	}
	return strings.Join(parts, "; ")
}

func writeTaskLocks(b *strings.Builder, l *locks.Locks) {
	for _, c := range l.TaskDeadlocks {
		since := ""
		if l.UnchangedFor > 0 {
			since = fmt.Sprintf("; none of them went on in %v", l.UnchangedFor)
		}
		printable.Fprintf(b, "\nDEADLOCK: %s%s\n", cycleText(len(c), "virtual or platform thread", "holds"), since)
		for i := range c {
			printable.Fprintf(b, "  %s\n      waits for %s\n", waiterName(&c[i]), c[i].Wait.String())
			if c[i].In != "" {
				printable.Fprintf(b, "      in %s\n", c[i].In)
			}
		}
	}
	for lock := range stacks.Each(l.TaskLocks) {
		owner := lock.Owner != 0 || lock.OwnerTask != 0
		what := lock.Object()
		if owner {
			what = labelAt(string(lock.Kind), lock.Symbol, lock.Address)
		}
		printable.Fprintf(b, "\n%s\n  waiting: %s%s\n", what, count(len(lock.Waiters), "virtual thread"),
			withSeparator(", the first in ", lock.In))
		if owner {
			writeOwnerTask(b, l, lock.PID, &lock.Wait)
		}
	}
}

func waiterName(w *locks.Waiter) string {
	if w.TID != 0 {
		return fmt.Sprintf("thread %d %s", w.TID, w.Name)
	}
	return strings.TrimRight(fmt.Sprintf("virtual thread #%d %s", w.Task, w.Name), " ")
}

// writeOwnerTask writes the owner of a lock that virtual threads wait for, or that a virtual thread holds.
func writeOwnerTask(b *strings.Builder, l *locks.Locks, pid int, w *waits.Wait) {
	if w.Owner != 0 {
		printable.Fprintf(b, "  held by %s\n", shownThreadName(l, w.Owner))
		return
	}
	owner := locks.Waiter{Task: w.OwnerTask, Name: w.OwnerName}
	printable.Fprintf(b, "  held by %s\n", waiterName(&owner))
	p := l.Process(pid)
	if p == nil {
		return
	}
	is := func(t *stacks.Task) bool { return t.ID == w.OwnerTask && t.Count == 1 }
	if t := stacks.Find(p.Tasks, is); t != nil {
		writeTaskWait(b, t)
	}
}
