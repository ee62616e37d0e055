// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/tabular"
)

// mostTold is how many names of tasks are told in one line.
const mostTold = 8

// does says what a task waits for, after its name.
func (t *Task) does() string {
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

// enumerate lists names, the first ones of many.
func enumerate(names []string) string {
	if n := len(names); n > mostTold {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostTold], ", "), n-mostTold)
	}
	return strings.Join(names, ", ")
}

// key is the same for two tasks that do the same in the same place.
func (t *Task) key() string {
	key := t.State + "\x00" + t.Family + "\x00" + t.How + "\x00" + t.does()
	for i := range t.Frames {
		f := &t.Frames[i]
		key += fmt.Sprintf("\x00%s\x00%s\x00%d", f.Function, f.File, f.Line)
	}
	return key
}

// alike puts the tasks together that do the same, in the order of their first ones.
func alike(tasks []Task) (groups [][]*Task) {
	known := map[string]int{}
	for i := range tasks {
		key := tasks[i].key()
		n, is := known[key]
		if !is {
			n = len(groups)
			known[key], groups = n, append(groups, nil)
		}
		groups[n] = append(groups[n], &tasks[i])
	}
	return groups
}

// tasksText writes the tasks for people, those that do the same together.
func tasksText(b *strings.Builder, p *Process) {
	for _, group := range alike(p.Tasks) {
		first := group[0]
		if len(group) == 1 {
			printable.Fprintf(b, "\n%s task %s (%s, %s)%s\n", first.State, first.Name, first.Family, first.How, first.does())
		} else {
			var names []string
			for _, t := range group {
				names = append(names, t.Name)
			}
			printable.Fprintf(b, "\n%d %s tasks (%s, %s)%s\n", len(group), first.State, first.Family, first.How, first.does())
			printable.Fprintf(b, "  %s\n", enumerate(names))
		}
		for i := range first.Frames {
			frame(b, i, &first.Frames[i])
		}
	}
	if p.TasksChanged > 0 {
		printable.Fprintf(b, "\nchanging while being read: %s\n", tabular.Plural(int64(p.TasksChanged), "task"))
	}
	if p.TasksMore > 0 {
		printable.Fprintf(b, "\nnot shown: %s\n", tabular.Plural(int64(p.TasksMore), "task"))
	}
}
