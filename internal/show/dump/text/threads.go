// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

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
