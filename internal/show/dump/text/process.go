// SPDX-License-Identifier: Apache-2.0

// Package text writes a dump and its locks as text.
//
// # Algorithm
//
// [Write] writes each thread, [WriteMerged] each stack once, with the threads of equal program counters, state and wait
// reason. Both merge goroutines and tasks. Of a runaway recursion both ends are shown, with one line for the rest.
// Three threads with one stack are
//
//	3 threads: sleeping in futex (passive read)
//	  worker-1…3 (3): 4712 4713 4714
//	  #0  0x00007f25eb9a1d16 __futex_wait in /lib/libc.so.6 [context]
//	  #1  …
//
// Strings of the target pass through package printable.
package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

func writeHeading(b *strings.Builder, p *stacks.Process, counts string) {
	printable.Fprintf(b, "process %d %s, %s\n", p.PID, p.Name, counts)
	if p.Frozen != "" {
		printable.Fprintf(b, "no thread runs: the cgroup %s is frozen (as by docker pause)\n", p.Frozen)
	}
}

// Write writes each thread with a line for each frame.
func Write(w io.Writer, p *stacks.Process) error {
	var b strings.Builder
	writeHeading(&b, p, count(len(p.Threads), "thread")+goroutineCount(p)+taskCount(p))
	writeSummary(&b, p)
	threads, asleepInScheduler := shownThreads(p)
	for i := range threads {
		writeThread(&b, &threads[i], p.Native)
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
		b.Reset()
	}
	writeBesidesThreads(&b, p, asleepInScheduler)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeBesidesThreads(b *strings.Builder, p *stacks.Process, asleepInScheduler []string) {
	if n := len(asleepInScheduler); n > 0 {
		printable.Fprintf(b, "\nwithout a goroutine, asleep in Go's scheduler: %s %s (--native shows the stacks)\n",
			tabular.Form(n, "thread", "threads"), enumerate(asleepInScheduler))
	}
	writeTasks(b, p)
	writeMergedTasks(b, p)
	writeAwaits(b, p)
	writeGoroutines(b, p)
	if p.WaitingText != "" {
		printable.Fprintf(b, "\n%s\n", p.WaitingText)
	}
	writeCycles(b, p)
	if text := Unexamined(p); text != "" {
		printable.Fprintf(b, "\n%s\n", text)
	}
	writeUnanswered(b, p, "")
}

// writeUnanswered writes which connections have no answer: no thread of an event loop shows its requests.
func writeUnanswered(b *strings.Builder, p *stacks.Process, who string) {
	for i := range p.Unanswered {
		printable.Fprintf(b, "\n%s%s\n", who, p.Unanswered[i].String())
	}
}

// writeCycles names threads that waited for each other: no proof of a deadlock, as they were read in turn.
func writeCycles(b *strings.Builder, p *stacks.Process) {
	l := locks.Locks{Processes: []*stacks.Process{p}}
	for _, c := range l.Cycles() {
		text := "waited for each other when they were read; --locks shows whether it is a deadlock"
		if len(c) == 1 {
			text = "waited for a lock that it held when it was read; --locks shows whether it is a deadlock"
		}
		printable.Fprintf(b, "\n%s %s\n", shownThreadNames(&l, c), text)
	}
}

// Unexamined returns why a process may hang without a thread that shows it, and the next command: "unknown: promises
// are not examined; 5 client connections are open and nothing runs; node inspect …". It is "" without a sign of that.
func Unexamined(p *stacks.Process) string {
	if !p.NothingRuns() {
		return ""
	}
	for _, l := range p.Unexamined() {
		if p.Clients > 0 || !l.UnthreadedPossible {
			return "unknown: " + l.Unthreaded + " are not examined; " + stillText(p) + "; " +
				strings.ReplaceAll(l.UnthreadedNext, "PID", strconv.Itoa(p.PID))
		}
	}
	return ""
}

func stillText(p *stacks.Process) string {
	if p.Clients == 0 {
		return "nothing runs"
	}
	return count(p.Clients, "client connection") + " " + tabular.Form(p.Clients, "is", "are") + " open and nothing runs"
}

func count(n int, noun string) string { return tabular.Plural(int64(n), noun) }

func waiting(n int, noun string) string { return count(n, noun) + tabular.Form(n, " waits", " wait") }

// reasons are the parts of a text.
type reasons []string

func (r *reasons) add(n int, text string) {
	if n > 0 {
		*r = append(*r, text)
	}
}

const maxShown = 8

func enumerate(names []string) string { return tabular.List(names, maxShown) }

func enumerateBy[T any](list []T, name func(T) string) string {
	var names []string
	for _, x := range list {
		names = append(names, name(x))
	}
	return enumerate(names)
}

func withSeparator(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

const noName = "(no name)"

func shownName(t *stacks.Thread) string {
	if strings.TrimSpace(t.Name) == "" {
		return noName
	}
	return t.Name
}

var states = map[string]string{"R": "running", "S": "sleeping", "D": "in uninterruptible sleep",
	"T": "stopped by a signal or a debugger"}

func writeThread(b *strings.Builder, t *stacks.Thread, native bool) {
	runs := ""
	if t.Goroutine != 0 {
		runs = fmt.Sprintf(", goroutine %d%s", t.Goroutine, withSeparator(" of ", t.GoroutineRuntime))
	}
	printable.Fprintf(b, "\nthread %d %s%s:%s (%s)\n", t.TID, shownName(t), runs, stateText(t), howText(t.How))
	writeWait(b, t)
	if by := t.PinnedBy(); by != "" {
		printable.Fprintf(b, "      its virtual thread is pinned by %s\n", by)
	}
	writeStack(b, t, native)
}

func howText(how string) string {
	switch how {
	case observe.ByPassiveRead.String():
		return "passive read"
	case observe.ByStop.String():
		return "stopped to read"
	case stacks.ReadTwice:
		return "read twice"
	}
	return how
}

func stateText(t *stacks.Thread) string {
	text := withSeparator(" ", states[t.State])
	if t.Wait != "" && t.State != "T" {
		text += " in " + t.Wait
	}
	return text + withSeparator(" ", t.Signal)
}

func waitsLine(t *stacks.Thread) string {
	if t.WaitsFor == nil {
		return ""
	}
	switch t.WaitsFor.Kind {
	case waits.NoWait, waits.Other, waits.Stopped, waits.Signal:
		return ""
	case waits.Sleep:
		return t.WaitsFor.SleepText()
	}
	return "waits for " + t.WaitsFor.String()
}

func writeWait(b *strings.Builder, t *stacks.Thread) {
	if line := waitsLine(t); line != "" {
		printable.Fprintf(b, "      %s\n", line)
	}
}
