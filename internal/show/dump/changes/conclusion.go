// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"fmt"
	"strings"

	"prywalk/internal/base/tabular"
)

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
	parts := []string{fmt.Sprintf(format, len(still), total, form(len(still), "has", "have"), in)}
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
			parts = append(parts, fmt.Sprintf("%d %s%s", n, form(n, s.one, s.other), s.rest))
		}
	}
	for _, cycle := range c.Cycles {
		parts = append(parts, "DEADLOCK of "+tabular.Plural(int64(len(cycle)), "thread"))
	}
	if c.Before.Goroutines > 0 && c.After.Goroutines > c.Before.Goroutines { // 0: they were not read
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

func form(n int, one, other string) string {
	if n == 1 {
		return one
	}
	return other
}
