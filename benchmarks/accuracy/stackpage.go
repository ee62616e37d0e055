// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/stats"
)

const stacksName = "stacks"

func (f *figures) counted() []stackRow {
	return slices.DeleteFunc(slices.Clone(f.Stacks), func(r stackRow) bool { return r.Complete == nil })
}

func (f *figures) stacksMarkdown() string {
	var b strings.Builder
	m := f.Machine
	low, high := 0.0, 0.0
	for i, r := range f.Stacks {
		if high = max(high, r.Load); i == 0 || r.Load < low {
			low = r.Load
		}
	}
	fmt.Fprintf(&b,
		"\nCounted on %s, %s, %d processors, %s, %s, prywalk %s: recordings of %g s at 99 ticks a second, one after the "+
			"other. "+
			"The machine's load average was %.1f to %.1f.\n", f.Date, m.CPU, m.Processors, m.Kernel, m.Arch, m.Prywalk,
		f.Settings.Seconds, low, high)
	for _, part := range []struct{ title, text string }{
		{"Complete stacks", f.stacksTable().String()},
		{"What is not complete", f.classTable()},
		{"Programs that could not be counted", f.uncounted()},
	} {
		if part.text != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s", part.title, part.text)
		}
	}
	return b.String() + "\n"
}

func portion(whole, all int64) string {
	if all == 0 {
		return ""
	}
	low, high := wilson(whole, all)
	return fmt.Sprintf("%d of %d = %s (%s)", whole, all, percent(stats.Ratio(whole, all), 2), interval(low, high))
}

func (f *figures) stacksTable() *markdown.Table {
	t := markdown.NewTable("program", "threads", "complete", "of running threads", "of CPU time")
	for _, r := range f.counted() {
		c := r.Complete
		t.Row(r.Name, fmt.Sprint(c.Threads), portion(c.Whole, c.Samples), portion(c.RunningWhole, c.Running),
			percent(c.CPU, 2))
	}
	return t
}

func (f *figures) wholeTable() *markdown.Table {
	t := markdown.NewTable("program", "threads", "samples", "complete", "stopped", "read passively", "unchanged",
		"samples of running threads", "of CPU time")
	for _, r := range f.counted() {
		c := r.Complete
		t.Row(r.Name, fmt.Sprint(c.Threads), fmt.Sprint(c.Samples), portion(c.Whole, c.Samples),
			portion(c.ByHow["stop"], c.Observations["stop"]), portion(c.ByHow["passive"], c.Observations["passive"]),
			portion(c.ByHow["unchanged"], c.Observations["unchanged"]), portion(c.RunningWhole, c.Running), percent(c.CPU, 2))
	}
	return t
}

var methods = []string{"context", "cfi", "fp", "heuristic", "scan"}

func (f *figures) methodTable() *markdown.Table {
	t := markdown.NewTable(append([]string{"program", "frames"}, methods...)...)
	for _, r := range f.counted() {
		var all int64
		for _, n := range r.Complete.Frames {
			all += n
		}
		row := []string{r.Name, fmt.Sprint(all)}
		for _, m := range methods {
			row = append(row, percent(stats.Ratio(r.Complete.Frames[m], all), 2))
		}
		t.Row(row...)
	}
	return t
}

func (f *figures) classTable() string {
	t, filled := markdown.NewTable("program", "samples", "reason", "where the walk ended"), false
	for _, r := range f.counted() {
		for _, c := range r.Complete.Classes {
			place := ""
			if c.Place != "" {
				place = code(c.Place)
			}
			t.Row(r.Name, fmt.Sprint(c.Samples), c.Reason, place)
			filled = true
		}
	}
	if !filled {
		return ""
	}
	return t.String()
}

func (f *figures) uncounted() string {
	var b strings.Builder
	for _, r := range f.Stacks {
		b.WriteString(failure(r.Name, r.Error))
	}
	return b.String()
}
