// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"io"
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/waits"
)

var states = map[string]string{"R": "running", "S": "sleeping", "D": "in uninterruptible sleep", "T": "stopped"}

// Text writes a block for each thread, a line for each frame.
func Text(w io.Writer, p *Process) error {
	var b strings.Builder
	p.writeHeading(&b, count(len(p.Threads), "thread")+p.goroutineCount())
	threads, schedule := p.shownThreads()
	for i := range threads {
		writeThread(&b, &threads[i], p.Native)
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
		b.Reset()
	}
	p.writeBesidesThreads(&b, schedule)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeBesidesThreads writes what follows the threads' stacks. schedule are the threads asleep in Go's scheduler.
func (p *Process) writeBesidesThreads(b *strings.Builder, schedule []string) {
	writeSchedulers(b, schedule)
	writeTasks(b, p)
	writeGoroutines(b, p)
	if p.Parked != "" {
		printable.Fprintf(b, "\n%s\n", p.Parked)
	}
	p.writeCycles(b)
}

// writeCycles names threads that waited for each other: no proof of a deadlock, as they were read in turn.
func (p *Process) writeCycles(b *strings.Builder) {
	l := Locks{Processes: []*Process{p}}
	for _, c := range waits.Cycles(l.graph()) {
		text := "waited for each other when they were read; --locks shows whether it is a deadlock"
		if len(c) == 1 {
			text = "waited for a lock that it held when it was read; --locks shows whether it is a deadlock"
		}
		printable.Fprintf(b, "\n%s %s\n", l.names(c), text)
	}
}

func writeThread(b *strings.Builder, t *Thread, native bool) {
	runs := ""
	if t.Goroutine != 0 {
		runs = fmt.Sprintf(", goroutine %d%s", t.Goroutine, withSeparator(" of ", t.GoroutineRuntime))
	}
	printable.Fprintf(b, "\nthread %d %s%s:%s (%s)\n", t.TID, t.shownName(), runs, t.stateText(), howText(t.How))
	t.writeWait(b)
	writeStack(b, t, native)
}

func howText(how string) string {
	switch how {
	case "peek":
		return "passive read"
	case "freeze":
		return "stopped to read"
	case "twice":
		return "read twice"
	}
	return how
}

func (t *Thread) stateText() string {
	text := withSeparator(" ", states[t.State])
	if t.Wait != "" && t.State != "T" {
		text += " in " + t.Wait
	}
	return text + withSeparator(" ", t.Signal)
}

func writeStack(b *strings.Builder, t *Thread, native bool) {
	n := 0
	hidden, some := repeated(t.Frames, 0)
	for i := range t.Frames {
		f := &t.Frames[i]
		if some && i == hidden.to {
			hidden, some = repeated(t.Frames, i)
		}
		if some && i == hidden.from {
			hidden.write(b, t.Frames)
		}
		if f.Method == "" && f.Kind == "" {
			continue
		}
		if f.Machinery && !native {
			continue
		}
		if !some || i < hidden.from {
			writeFrame(b, n, f)
		}
		if !f.Inlined {
			n++
		}
	}
	if !t.Complete {
		printable.Fprintf(b, "      [incomplete: %s]\n", t.StopReason)
	}
}

func withSeparator(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

func writeFrame(b *strings.Builder, n int, f *Frame) {
	where := ""
	if f.File != "" {
		where = " at " + printable.SourceFile(f.File)
		if f.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, f.Line)
		}
	}
	name := f.Function
	if name == "" {
		name = "??"
	}
	module := ""
	if f.Module != "" {
		module = " in " + f.Module
	}
	if f.Inlined {
		printable.Fprintf(b, "      %18s %s%s (inlined)\n", "", name, where)
		return
	}
	address, how := fmt.Sprintf("0x%016x", uint64(f.PC)), f.Method
	if f.Kind != "" {
		how = f.Kind + withSeparator(" ", f.Type)
		if f.PC == 0 {
			address = ""
		}
	}
	printable.Fprintf(b, "  #%-2d %18s %s%s%s [%s]\n", n, address, name, where, module, how)
}

// waitsLine is "" if the call's name says it all.
func (t *Thread) waitsLine() string {
	if t.WaitsFor == nil {
		return ""
	}
	switch t.WaitsFor.Kind {
	case waits.None, waits.Other, waits.Stopped, waits.Signal:
		return ""
	case waits.Sleep:
		return t.WaitsFor.SleepText()
	}
	return "waits for " + t.WaitsFor.String()
}

func (t *Thread) writeWait(b *strings.Builder) {
	if line := t.waitsLine(); line != "" {
		printable.Fprintf(b, "      %s\n", line)
	}
}
