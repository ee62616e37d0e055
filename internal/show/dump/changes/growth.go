// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/base/tabular"
	"prywalk/internal/show/dump/stacks"
)

// item is a thread, a goroutine, or a task: of virtual threads perhaps several with one stack.
type item struct {
	id, createdBy string
	count         int
	stack         *stacks.Thread
}

// items are those of a dump by kind. Go's own goroutines are left out.
type items map[string][]item

var kinds = []string{"thread", "goroutine", "task"}

func itemsOf(p *stacks.Process) items {
	all := items{}
	add := func(kind string, it item) { all[kind] = append(all[kind], it) }
	for i := range p.Threads {
		add("thread", item{fmt.Sprint(p.Threads[i].TID), "", 1, &p.Threads[i]})
	}
	for i := range p.GoroutineStacks {
		if g := &p.GoroutineStacks[i]; !g.System {
			add("goroutine", item{fmt.Sprint(g.Runtime, g.ID), g.CreatedBy, 1, g.Stack()})
		}
	}
	for t := range stacks.Each(p.Tasks) {
		add("task", item{fmt.Sprint(t.Name, t.ID), "", max(t.Count, 1), &stacks.Thread{Frames: t.Frames}})
	}
	return all
}

func countsOf(all items) Counts {
	count := func(kind string) (n int) {
		for _, it := range all[kind] {
			n += it.count
		}
		return n
	}
	return Counts{count("thread"), count("goroutine"), count("task")}
}

// addGrowth adds the stacks that more threads, goroutines or tasks have than before. At least one of these must be new,
// as old ones may only have moved to the stack. Goroutines are compared only if both dumps have some: a dump without
// any has not read them.
func (c *Changes) addGrowth(a, b items) {
	for _, kind := range kinds {
		if kind == "goroutine" && (len(a[kind]) == 0 || len(b[kind]) == 0) {
			continue
		}
		counts, known, groups := map[string]int{}, map[string]bool{}, map[string]int{}
		for _, it := range a[kind] {
			counts[it.key()] += it.count
			known[it.id] = true
		}
		for _, it := range b[kind] {
			key := it.key()
			n, ok := groups[key]
			if !ok {
				n = len(c.Grew)
				groups[key] = n
				c.Grew = append(c.Grew, Growth{Kind: kind, Before: counts[key], Place: place(it.stack),
					Stack: it.functions(), CreatedBy: it.createdBy})
			}
			g := &c.Grew[n]
			g.After += it.count
			g.hasNew = g.hasNew || it.count > 1 || !known[it.id]
		}
	}
	c.Grew = slices.DeleteFunc(c.Grew, func(g Growth) bool { return g.After <= g.Before || !g.hasNew })
	slices.SortStableFunc(c.Grew, func(x, y Growth) int { return cmp.Compare(y.After-y.Before, x.After-x.Before) })
}

func (it *item) functions() []string {
	names := make([]string, len(it.stack.Frames))
	for i := range it.stack.Frames {
		f := &it.stack.Frames[i]
		names[i] = cmp.Or(f.Function, f.Module, "??")
	}
	return names
}

func (it *item) key() string { return strings.Join(append(it.functions(), it.createdBy), "\x00") }

func (c *Changes) conclude() string {
	total, in := tabular.Plural(int64(c.After.Threads), "thread"), ""
	if !c.Since.IsZero() {
		in = fmt.Sprintf(" in %.1f s", c.Seconds)
	}
	still, format := c.Of(NotRun), "%d of %s %s not run%s"
	if !c.comparesRuns() {
		still = c.Of(SameStack)
		format = "%d of %s %s the same stack%s, without run counts that prove that they did not run"
	}
	parts := []string{fmt.Sprintf(format, len(still), total, tabular.Form(len(still), "has", "have"), in)}
	if idle := countIdle(still); idle > 0 && still[0].Change == NotRun {
		parts[0] += fmt.Sprintf(" (%d idle)", idle)
	}
	for _, s := range []struct {
		change           Change
		one, other, rest string
	}{
		{Moved, "", "", "moved"}, {Ran, "ran and has", "ran and have", " the same stack"}, {New, "is", "are", " new"},
		{Ended, "", "", "ended"},
	} {
		if n := len(c.Of(s.change)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s", n, tabular.Form(n, s.one, s.other), s.rest))
		}
	}
	for _, cycle := range c.Cycles {
		parts = append(parts, "DEADLOCK of "+tabular.Plural(int64(len(cycle)), "thread"))
	}
	if c.Before.Goroutines > 0 && c.After.Goroutines > c.Before.Goroutines { // 0 means that they were not read
		parts = append(parts, fmt.Sprintf("goroutines grew from %d to %d", c.Before.Goroutines, c.After.Goroutines))
	}
	if c.After.Tasks > c.Before.Tasks {
		parts = append(parts, fmt.Sprintf("tasks grew from %d to %d", c.Before.Tasks, c.After.Tasks))
	}
	return strings.Join(parts, "; ")
}

func countIdle(list []*Thread) (n int) {
	for _, t := range list {
		n += min(len(t.Idle), 1)
	}
	return n
}

// comparesRuns reports whether run counts of both dumps are known; no thread of a core has one.
func (c *Changes) comparesRuns() bool {
	for i := range c.Threads {
		if c.Threads[i].Change == NotRun || c.Threads[i].Runs > 0 {
			return true
		}
	}
	return len(c.Of(Moved))+len(c.Of(SameStack)) == 0
}
