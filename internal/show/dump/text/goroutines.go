// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/stacks"
)

func goroutineKey(g *stacks.Goroutine) string {
	key := []byte(strings.Join([]string{g.Runtime, g.Status, g.Wait, g.StopReason, createdText(g), labelsText(g)},
		"\x00"))
	for i := range g.Frames {
		key = binary.LittleEndian.AppendUint64(key, uint64(g.Frames[i].PC))
	}
	return string(key)
}

func createdText(g *stacks.Goroutine) string {
	if g.Created == nil || g.CreatedBy == "" {
		return ""
	}
	return "created by " + g.Created.Location()
}

func labelsText(g *stacks.Goroutine) string {
	var list []string
	for key, value := range g.Labels {
		list = append(list, key+"="+value)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func statusText(g *stacks.Goroutine) string {
	if g.Wait != "" {
		return g.Status + " (" + g.Wait + ")"
	}
	return g.Status
}

// goroutineGroups groups by equal stacks, smallest first, without goroutines on a thread. changed counts those without
// frames; hidden the runtime's, unless p.Native.
func goroutineGroups(p *stacks.Process) (groups [][]*stacks.Goroutine, hidden, changed int) {
	groups = groupBy(p.GoroutineStacks, func(g *stacks.Goroutine) string {
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
		return goroutineKey(g)
	})
	smallestFirst(groups)
	return groups, hidden, changed
}

func goroutineCount(p *stacks.Process) string {
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

func onlySchedules(t *stacks.Thread) bool {
	isOther := func(f stacks.Frame) bool {
		return !strings.HasPrefix(f.Function, "runtime.") && !strings.HasPrefix(f.Function, "internal/runtime/")
	}
	return t.Goroutine == 0 && t.State == "S" && t.Complete && len(t.Frames) > 0 &&
		!slices.ContainsFunc(t.Frames, isOther)
}

// shownThreads separates the threads asleep in Go's scheduler, if there are goroutines, by ID.
func shownThreads(p *stacks.Process) (shown []stacks.Thread, asleepInScheduler []string) {
	if len(p.GoroutineStacks) == 0 || p.Native {
		return p.Threads, nil
	}
	for i := range p.Threads {
		if t := &p.Threads[i]; onlySchedules(t) {
			asleepInScheduler = append(asleepInScheduler, fmt.Sprint(t.TID))
		} else {
			shown = append(shown, *t)
		}
	}
	return shown, asleepInScheduler
}

func writeGoroutines(b *strings.Builder, p *stacks.Process) {
	if len(p.GoroutineStacks) == 0 {
		return
	}
	groups, hidden, changed := goroutineGroups(p)
	for _, group := range groups {
		writeGoroutineGroup(b, group, p.Native)
	}
	var rest reasons
	rest.add(hidden, count(hidden, "goroutine")+" of Go's run-time system (--native shows them)")
	rest.add(changed, count(changed, "goroutine")+" that ran or ended while being read")
	if len(rest) > 0 {
		printable.Fprintf(b, "\nnot shown: %s\n", strings.Join(rest, "; "))
	}
}

func writeGoroutineGroup(b *strings.Builder, group []*stacks.Goroutine, native bool) {
	first := group[0]
	what := fmt.Sprintf("goroutine %d", first.ID)
	if len(group) > 1 {
		what = count(len(group), "goroutine")
	}
	printable.Fprintf(b, "\n%s%s: %s%s\n", what, withSeparator(" of ", first.Runtime), statusText(first),
		waited(group))
	if len(group) > 1 {
		printable.Fprintf(b, "  %s\n", enumerateBy(group, func(g *stacks.Goroutine) string { return fmt.Sprint(g.ID) }))
	}
	if text := labelsText(first); text != "" {
		printable.Fprintf(b, "  labels: %s\n", text)
	}
	if text := peerOf(group); text != "" {
		printable.Fprintf(b, "      waits for %s\n", text)
	}
	writeStack(b, first.Stack(), native)
	if text := createdText(first); text != "" {
		printable.Fprintf(b, "  %s\n", text)
	}
}

// peerOf names the other end that all of a group's goroutines wait for, or "".
func peerOf(group []*stacks.Goroutine) (peer string) {
	for i, g := range group {
		if g.WaitsFor == nil || g.WaitsFor.FD.State == "LISTEN" || i > 0 && g.WaitsFor.FD.OtherEnd() != peer {
			return ""
		}
		peer = g.WaitsFor.FD.OtherEnd()
	}
	return peer
}

func waited(group []*stacks.Goroutine) string {
	most := int64(0)
	for _, g := range group {
		most = max(most, g.Since)
	}
	switch d := time.Duration(most).Truncate(time.Second); {
	case d == 0:
		return ""
	case len(group) > 1:
		return fmt.Sprintf(", the longest for about %v", d)
	default:
		return fmt.Sprintf(", for about %v", d)
	}
}
