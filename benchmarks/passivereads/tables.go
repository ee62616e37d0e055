// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/stats"
	"prywalk/internal/base/statistics"
)

const sectionName = "passivereads"

type result struct {
	name   string
	asleep *asleep
	same   *same
	err    error
}

func (r *result) brief() string {
	if r.err != nil {
		return fmt.Sprintf("%-14s %v", r.name, r.err)
	}
	text := fmt.Sprintf("%-14s %d of %d passive reads complete; %d of %d sleeps equal, %d short, %d differ", r.name,
		r.asleep.whole, r.asleep.reads, r.same.equal, r.same.sleeps, r.same.short, len(r.same.differ))
	for _, list := range []map[string]int64{r.asleep.where, r.same.where} {
		for _, where := range slices.Sorted(maps.Keys(list)) {
			text += fmt.Sprintf("\n    incomplete, %d times: %s", list[where], where)
		}
	}
	for _, d := range r.same.differ[:min(len(r.same.differ), 5)] {
		text += "\n    " + d
	}
	return text
}

func tables(all []result, d time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"\nCounted on %s, Linux %s, %s, %d processors, %s; each program watched twice for %v at %d ticks a second.\n",
		time.Now().UTC().Format(time.DateOnly), machine.Kernel(), runtime.GOARCH, runtime.NumCPU(), runtime.Version(), d,
		time.Second/period)
	fmt.Fprintf(&b, "\n%s\n%s", wholeTable(all), sameTable(all))
	for _, r := range all {
		if r.err != nil {
			fmt.Fprintf(&b, "\n%s could not be measured: %v\n", r.name, r.err)
		}
		if r.same != nil && len(r.same.differ) > 0 {
			fmt.Fprintf(&b, "\n%s, a difference: %s\n", r.name, r.same.differ[0])
		}
	}
	return b.String() + "\n"
}

func percent(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }

func wholeTable(all []result) *markdown.Table {
	t := markdown.NewTable("program", "threads", "passive reads", "complete", "95 % interval",
		"of these by a proven register, a recalled one",
		"stopped in their sleep, complete", "unchanged", "not complete")
	for _, r := range all {
		if a := r.asleep; a != nil {
			low, high := statistics.Wilson(float64(a.whole), float64(a.reads))
			t.Row(r.name, fmt.Sprint(len(a.threads)), fmt.Sprint(a.reads),
				fmt.Sprintf("%d = %s", a.whole, percent(stats.Ratio(a.whole, a.reads))),
				percent(low)+" to "+percent(high), fmt.Sprintf("%d, %d", a.proven, a.recalled),
				fmt.Sprintf("%d, %d", a.stopped, a.wholeStopped),
				fmt.Sprint(a.unchanged), counts(a.reasons))
		}
	}
	return t
}

func sameTable(all []result) *markdown.Table {
	t := markdown.NewTable("program", "sleeps", "equal", "passive read shorter", "different", "seen a third time", "calls",
		"ran meanwhile",
		"calls that a stop would harm")
	for _, r := range all {
		if s := r.same; s != nil {
			t.Row(r.name, fmt.Sprint(s.sleeps), fmt.Sprint(s.equal), fmt.Sprint(s.short), fmt.Sprint(len(s.differ)),
				fmt.Sprint(s.again),
				counts(s.calls), fmt.Sprint(s.moved), fmt.Sprint(s.unsafe))
		}
	}
	return t
}

func counts(m map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(parts, ", ")
}
