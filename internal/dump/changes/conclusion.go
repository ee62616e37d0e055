// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"fmt"
	"strings"

	"prywalk/internal/tabular"
)

func (c *Changes) conclude() string {
	total := tabular.Plural(int64(c.After.Threads), "thread")
	in := ""
	if !c.Since.IsZero() {
		in = fmt.Sprintf(" in %.1f s", c.Seconds)
	}
	var parts []string
	if still := c.Of(NotRun); c.comparesRuns() {
		idle := 0
		for _, t := range still {
			idle += rank(t)
		}
		part := fmt.Sprintf("%d of %s %s not run%s", len(still), total, form(len(still), "has", "have"), in)
		if idle > 0 {
			part += fmt.Sprintf(" (%d idle)", idle)
		}
		parts = append(parts, part)
	} else {
		parts = append(parts, fmt.Sprintf("%d of %s %s the same stack%s, without run counts that prove that they did not run",
			len(c.Of(SameStack)), total, form(len(c.Of(SameStack)), "has", "have"), in))
	}
	for _, s := range []struct {
		n    int
		text string
	}{
		{len(c.Of(Moved)), "moved"}, {len(c.Of(Ran)), "ran and " + form(len(c.Of(Ran)), "has", "have") + " the same stack"},
		{len(c.Of(New)), form(len(c.Of(New)), "is", "are") + " new"}, {len(c.Of(Ended)), "ended"},
	} {
		if s.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", s.n, s.text))
		}
	}
	for _, cycle := range c.Cycles {
		parts = append(parts, fmt.Sprintf("DEADLOCK of %s", tabular.Plural(int64(len(cycle)), "thread")))
	}
	parts = append(parts, grown("goroutines", c.Before.Goroutines, c.After.Goroutines, 1),
		grown("tasks", c.Before.Tasks, c.After.Tasks, 0))
	return strings.TrimRight(strings.ReplaceAll(strings.Join(parts, "; "), "; ; ", "; "), "; ")
}

// grown returns "" for fewer before than least: these were not read.
func grown(what string, before, after, least int) string {
	if before < least || after <= before {
		return ""
	}
	return fmt.Sprintf("%s grew from %d to %d", what, before, after)
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
