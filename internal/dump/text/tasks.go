// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/dump/stacks"
	"prywalk/internal/printable"
)

func awaitsText(t *stacks.Task) string {
	switch {
	case len(t.AwaitsTasks) == 1:
		return ": awaits task " + t.AwaitsTasks[0]
	case len(t.AwaitsTasks) > 1:
		return ": awaits tasks " + enumerate(t.AwaitsTasks)
	case t.Awaits != "":
		return ": awaits " + t.Awaits
	}
	return ""
}

func taskKey(t *stacks.Task) string {
	key := t.State + "\x00" + t.Kind + "\x00" + t.How + "\x00" + awaitsText(t)
	for i := range t.Frames {
		f := &t.Frames[i]
		key += fmt.Sprintf("\x00%s\x00%s\x00%d", f.Function, f.File, f.Line)
	}
	return key
}

func writeVirtualThreads(b *strings.Builder, p *stacks.Process) {
	for i := range p.Tasks {
		t := &p.Tasks[i]
		switch {
		case t.ID == 0:
			continue
		case t.Count == 1:
			printable.Fprintf(b, "\n%s virtual thread #%d %s (%s)\n", t.State, t.ID, t.Name, howText(t.How))
		default:
			printable.Fprintf(b, "\n%d %s virtual threads (%s)\n", t.Count, t.State, howText(t.How))
			printable.Fprintf(b, "  %s\n", namesText(t))
		}
		if t.WaitsFor != nil {
			printable.Fprintf(b, "      waits for %s\n", t.WaitsFor)
		}
		for j := range t.Frames {
			writeFrame(b, j, &t.Frames[j])
		}
	}
	if text := VirtualThreadsText(p.VirtualThreads); text != "" {
		printable.Fprintf(b, "\n%s\n", text)
	}
}

func namesText(t *stacks.Task) string {
	text := strings.Join(t.Names, ", ")
	if more := t.Count - len(t.Names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// VirtualThreadsText says how many virtual threads there are, and which are not shown and why; "": there are none.
func VirtualThreadsText(v *stacks.VirtualThreads) string {
	if v == nil || v.Total+v.LeftOut() == 0 && !v.Untracked {
		return ""
	}
	parts := []string{count(v.Total, "virtual thread")}
	add := func(n int, why string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, why))
		}
	}
	add(v.Mounted, pluralForm(v.Mounted, "has its", "have their")+" frames on a thread's stack above")
	add(v.Changed, "changed during each reading, and "+pluralForm(v.Changed, "is", "are")+" not shown")
	add(v.Unproven, pluralForm(v.Unproven, "has a stack", "have stacks")+" that cannot be proven, and "+
		pluralForm(v.Unproven, "is", "are")+" not shown")
	add(v.Unlisted, "parts of the lists of virtual threads could not be read: repeat the dump")
	if v.Untracked {
		parts = append(parts, "only those of executors are listed, as the program runs with -Djdk.trackAllThreads=false")
	}
	return strings.Join(parts, "; ")
}

func writeTasks(b *strings.Builder, p *stacks.Process) {
	tasks := slices.Clone(p.Tasks)
	tasks = slices.DeleteFunc(tasks, func(t stacks.Task) bool { return t.ID != 0 })
	for _, group := range groupBy(tasks, taskKey) {
		first, how := group[0], howText(group[0].How)
		if len(group) == 1 {
			printable.Fprintf(b, "\n%s task %s (%s, %s)%s\n", first.State, first.Name, first.Kind, how, awaitsText(first))
		} else {
			var names []string
			for _, t := range group {
				names = append(names, t.Name)
			}
			printable.Fprintf(b, "\n%d %s tasks (%s, %s)%s\n", len(group), first.State, first.Kind, how, awaitsText(first))
			printable.Fprintf(b, "  %s\n", enumerate(names))
		}
		for i := range first.Frames {
			writeFrame(b, i, &first.Frames[i])
		}
	}
	if p.TasksChanged > 0 {
		printable.Fprintf(b, "\nchanging while being read: %s\n", count(p.TasksChanged, "task"))
	}
	if p.TasksMore > 0 {
		printable.Fprintf(b, "\nnot shown: %s\n", count(p.TasksMore, "task"))
	}
}
