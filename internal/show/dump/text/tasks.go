// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

func awaitsText(tasks ...*stacks.Task) string {
	var awaited []string
	known := map[string]bool{}
	for _, t := range tasks {
		for _, name := range t.AwaitsTasks {
			if !known[name] {
				awaited = append(awaited, name)
			}
			known[name] = true
		}
	}
	switch {
	case len(awaited) == 1:
		return ": awaits task " + awaited[0]
	case len(awaited) > 1:
		return ": awaits tasks " + enumerate(awaited)
	case len(tasks) == 1 && polled(tasks[0]) != nil:
		return ": awaits " + tasks[0].WaitsFor.String()
	}
	if text := awaitedObject(tasks[0]); text != "" {
		return ": awaits " + text
	}
	return ""
}

// polled returns the descriptor that a task awaits, or nil.
func polled(t *stacks.Task) *waits.OpenFile {
	if t.WaitsFor == nil || t.WaitsFor.Kind != waits.Descriptor {
		return nil
	}
	return t.WaitsFor.FD
}

// awaitedObject is equal for connections to one server.
func awaitedObject(t *stacks.Task) string {
	if f := polled(t); f != nil {
		return f.OtherEnd()
	}
	return t.Awaits
}

// taskKey is equal for tasks that await different tasks at one place.
func taskKey(t *stacks.Task) string {
	awaits := awaitedObject(t)
	if len(t.AwaitsTasks) > 0 {
		awaits = "tasks"
	}
	key := t.State + "\x00" + t.Kind + "\x00" + t.How + "\x00" + awaits
	for f := range stacks.Each(t.Frames) {
		key += fmt.Sprintf("\x00%s\x00%s\x00%d", f.Function, f.File, f.Line)
	}
	return key
}

// taskCount returns ", 7 greenlets, 6 of them in checkout at app.py:5", of tasks that no thread runs: each kind with
// the place where most of them wait, other than for tasks; and how many are not shown, as no dump shows them.
func taskCount(p *stacks.Process) (text string) {
	var kinds []string
	total, at := map[string]int{}, map[string]map[string]int{}
	for t := range stacks.Each(p.Tasks) {
		if t.State == "running" {
			continue
		}
		if at[t.Kind] == nil {
			kinds, at[t.Kind] = append(kinds, t.Kind), map[string]int{}
		}
		total[t.Kind] += t.Count
		if len(t.AwaitsTasks) == 0 { // else it waits where those do
			at[t.Kind][t.OwnPlace()] += t.Count
		}
	}
	for _, kind := range kinds {
		n, most := total[kind], ""
		for place, here := range at[kind] {
			if more := here - at[kind][most]; place != "" && (more > 0 || more == 0 && place < most) {
				most = place
			}
		}
		text += ", " + count(n, cmp.Or(taskNouns[kind], strings.ReplaceAll(kind, "-", " ")))
		switch here := at[kind][most]; {
		case most == "" || here == 1 && n > 1:
		case here == n:
			text += " in " + most
		default:
			text += fmt.Sprintf(", %d of them in %s", here, most)
		}
	}
	var rest reasons
	rest.add(p.TasksMore, ", "+count(p.TasksMore, "more task")+" than prywalk reads")
	rest.add(p.TasksUnproven, ", "+count(p.TasksUnproven, "task")+" without a proven stack")
	return text + strings.Join(rest, "")
}

var taskNouns = map[string]string{
	languages.AsyncioFamily: languages.CoroutineTask, languages.AwaitTask: "pending await",
}

func writeTasks(b *strings.Builder, p *stacks.Process) {
	tasks := slices.Clone(p.Tasks)
	tasks = slices.DeleteFunc(tasks, func(t stacks.Task) bool { return t.ID != 0 || t.Kind == languages.AwaitTask })
	groups := groupBy(tasks, taskKey)
	smallestFirst(groups)
	for _, group := range groups {
		first, how := group[0], howText(group[0].How)
		if len(group) == 1 {
			printable.Fprintf(b, "\n%s task %s (%s, %s)%s\n", first.State, first.Name, first.Kind, how, awaitsText(first))
		} else {
			printable.Fprintf(b, "\n%d %s tasks (%s, %s)%s\n", len(group), first.State, first.Kind, how, awaitsText(group...))
			printable.Fprintf(b, "  %s\n", enumerateBy(group, func(t *stacks.Task) string { return t.Name }))
		}
		writeFrames(b, first.Frames)
	}
}

func writeAwaits(b *strings.Builder, p *stacks.Process) {
	for t := range stacks.Each(p.Tasks) {
		if t.Kind != languages.AwaitTask {
			continue
		}
		printable.Fprintf(b, "\n%s (%s)%s\n", count(t.Count, "pending await"), howText(t.How), awaitsText(t))
		writeFrames(b, t.Frames)
	}
	if p.Awaits != nil {
		text := suspendedText(p.Awaits)
		if p.Clients > 0 && p.NothingRuns() {
			text += "; " + stillText(p)
		}
		printable.Fprintf(b, "\n%s\n", text)
	}
}

// suspendedText says how many functions are suspended, and what is not known.
func suspendedText(a *managed.AwaitCounts) string {
	parts := reasons{count(a.Pending, "asynchronous function") + " " + tabular.Form(a.Pending, "is", "are") + " suspended"}
	parts.add(a.Unproven, fmt.Sprintf("%s that changed meanwhile, or without a proven chain, %s left out",
		count(a.Unproven, "function"), tabular.Form(a.Unproven, "is", "are")))
	parts.add(a.More, count(a.More, "chain")+" beyond the limits "+tabular.Form(a.More, "is", "are")+" not shown")
	if a.Cut || a.Unread > 0 {
		parts.add(1, "only a part of the heap was searched: there can be more, also within these chains")
	}
	return strings.Join(parts, "; ")
}
