// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"prywalk/internal/printable"
)

func (g *Goroutine) key() string {
	key := []byte(strings.Join([]string{g.Runtime, g.Status, g.Wait, g.StopReason, g.createdText(), g.labelsText()},
		"\x00"))
	for i := range g.Frames {
		key = binary.LittleEndian.AppendUint64(key, uint64(g.Frames[i].PC))
	}
	return string(key)
}

func (g *Goroutine) createdText() string {
	if g.created == nil || g.CreatedBy == "" {
		return ""
	}
	text := "created by " + g.CreatedBy
	if g.created.File != "" {
		text += fmt.Sprintf(" at %s:%d", printable.SourceFile(g.created.File), g.created.Line)
	}
	return text
}

func (g *Goroutine) labelsText() string {
	var list []string
	for key, value := range g.Labels {
		list = append(list, key+"="+value)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// statusText is as in Go's tracebacks: "waiting (chan receive)".
func (g *Goroutine) statusText() string {
	if g.Wait != "" {
		return g.Status + " (" + g.Wait + ")"
	}
	return g.Status
}

// goroutineGroups groups by equal stacks, smallest first. It omits those on a thread, and counts those without frames
// (changed) and, without p.Native, of the run-time system (hidden).
func (p *Process) goroutineGroups() (groups [][]*Goroutine, hidden, changed int) {
	groups = groupBy(p.GoroutineStacks, func(g *Goroutine) string {
		switch {
		case g.Thread != 0:
			return ""
		case g.System && !p.Native:
			hidden++
			return ""
		case len(g.Frames) == 0:
			changed++
			return ""
		}
		return g.key()
	})
	smallestFirst(groups)
	return groups, hidden, changed
}

func (p *Process) goroutineCount() string {
	n := 0
	for i := range p.GoroutineStacks {
		if !p.GoroutineStacks[i].System {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return ", " + count(n, "goroutine")
}

func (t *Thread) onlySchedules() bool {
	if t.Goroutine != 0 || t.State != "S" || !t.Complete || len(t.Frames) == 0 {
		return false
	}
	for i := range t.Frames {
		name := t.Frames[i].Function
		if !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/runtime/") {
			return false
		}
	}
	return true
}

// shownThreads separates threads asleep in Go's scheduler, if there are goroutines.
func (p *Process) shownThreads() (shown []Thread, schedule []string) {
	if len(p.GoroutineStacks) == 0 || p.Native {
		return p.Threads, nil
	}
	for i := range p.Threads {
		if t := &p.Threads[i]; t.onlySchedules() {
			schedule = append(schedule, fmt.Sprint(t.TID))
		} else {
			shown = append(shown, *t)
		}
	}
	return shown, schedule
}

func writeSchedulers(b *strings.Builder, tids []string) {
	if len(tids) > 0 {
		printable.Fprintf(b, "\nwithout a goroutine, asleep in Go's scheduler: %s %s (--native shows the stacks)\n",
			pluralForm(len(tids), "thread", "threads"), enumerate(tids))
	}
}

func writeGoroutines(b *strings.Builder, p *Process) {
	if len(p.GoroutineStacks) == 0 {
		return
	}
	groups, hidden, changed := p.goroutineGroups()
	for _, group := range groups {
		writeGoroutineGroup(b, group, p.Native)
	}
	var rest []string
	if hidden > 0 {
		rest = append(rest, count(hidden, "goroutine")+" of Go's run-time system (--native shows them)")
	}
	if changed > 0 {
		rest = append(rest, count(changed, "goroutine")+" that ran or ended while being read")
	}
	if len(rest) > 0 {
		printable.Fprintf(b, "\nnot shown: %s\n", strings.Join(rest, "; "))
	}
}

func writeGoroutineGroup(b *strings.Builder, group []*Goroutine, native bool) {
	first := group[0]
	what := fmt.Sprintf("goroutine %d", first.ID)
	if len(group) > 1 {
		what = count(len(group), "goroutine")
	}
	printable.Fprintf(b, "\n%s%s: %s%s\n", what, withSeparator(" of ", first.Runtime), first.statusText(),
		waited(longest(group), len(group)))
	if len(group) > 1 {
		var ids []string
		for _, g := range group {
			ids = append(ids, fmt.Sprint(g.ID))
		}
		printable.Fprintf(b, "  %s\n", enumerate(ids))
	}
	if text := first.labelsText(); text != "" {
		printable.Fprintf(b, "  labels: %s\n", text)
	}
	writeStack(b, first.stack(), native)
	if text := first.createdText(); text != "" {
		printable.Fprintf(b, "  %s\n", text)
	}
}

func waited(d time.Duration, n int) string {
	switch {
	case d < time.Second:
		return ""
	case n > 1:
		return fmt.Sprintf(", the longest for about %v", d.Truncate(time.Second))
	}
	return fmt.Sprintf(", for about %v", d.Truncate(time.Second))
}

func longest(group []*Goroutine) time.Duration {
	most := int64(0)
	for _, g := range group {
		most = max(most, g.Since)
	}
	return time.Duration(most)
}
