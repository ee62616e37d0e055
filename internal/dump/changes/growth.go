// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/dump/stacks"
)

// item is a thread, goroutine or task.
type item struct {
	id, createdBy string
	stack         stacks.Thread
}

func threads(p *stacks.Process) (list []item) {
	for i := range p.Threads {
		list = append(list, item{id: fmt.Sprint(p.Threads[i].TID), stack: p.Threads[i]})
	}
	return list
}

func goroutines(p *stacks.Process) (list []item) {
	for i := range p.GoroutineStacks {
		if g := &p.GoroutineStacks[i]; !g.System {
			list = append(list, item{fmt.Sprint(g.Runtime, g.ID), g.CreatedBy, *g.Stack()})
		}
	}
	return list
}

func tasks(p *stacks.Process) (list []item) {
	for i := range p.Tasks {
		list = append(list, item{id: p.Tasks[i].Name, stack: stacks.Thread{Frames: p.Tasks[i].Frames}})
	}
	return list
}

// addGrowth does not compare goroutines where one dump has none: they were not read.
func (c *Changes) addGrowth(a, b *stacks.Process) {
	c.grow("thread", threads(a), threads(b))
	if before, after := goroutines(a), goroutines(b); len(before) > 0 && len(after) > 0 {
		c.grow("goroutine", before, after)
	}
	c.grow("task", tasks(a), tasks(b))
	slices.SortStableFunc(c.Grew, func(x, y Growth) int { return cmp.Compare(y.After-y.Before, x.After-x.Before) })
}

// grow adds the stacks of more items, one of which is new: others have only moved there.
func (c *Changes) grow(kind string, before, after []item) {
	counts, known := map[string]int{}, map[string]bool{}
	for i := range before {
		counts[before[i].key()]++
		known[before[i].id] = true
	}
	groups := map[string]*Growth{}
	fresh := map[string]bool{}
	var order []string
	for i := range after {
		it := &after[i]
		key := it.key()
		if groups[key] == nil {
			order = append(order, key)
			groups[key] = &Growth{Kind: kind, Before: counts[key], Place: place(&it.stack), Stack: it.functions(),
				CreatedBy: it.createdBy}
		}
		groups[key].After++
		fresh[key] = fresh[key] || !known[it.id]
	}
	for _, key := range order {
		if g := groups[key]; g.After > g.Before && fresh[key] {
			c.Grew = append(c.Grew, *g)
		}
	}
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
