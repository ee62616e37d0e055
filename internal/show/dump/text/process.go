// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
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
	writeHeading(&b, p, count(len(p.Threads), "thread")+goroutineCount(p))
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
	writeSchedulers(b, asleepInScheduler)
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
