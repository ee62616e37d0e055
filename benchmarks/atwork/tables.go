// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
)

const (
	page         = "benchmarks/results/atwork.md"
	sectionName  = "atwork"
	groupSection = "groups"
)

func (s *settings) publish(all []row) error {
	if err := errors.Join(markdown.WriteDataFile(page, "programs", details(all)),
		markdown.WriteDataFile(page, "incomplete", incomplete(all))); err != nil {
		return err
	}
	if err := markdown.ReplaceSection(page, sectionName, func(string) string { return s.text(all) }); err != nil {
		return err
	}
	return markdown.ReplaceSection(page, groupSection, func(string) string { return summary(all) })
}

func (s *settings) text(all []row) string {
	var least, most float64
	for i := range all {
		if i == 0 {
			least = all[i].Load
		}
		least, most = min(least, all[i].Load), max(most, all[i].Load)
	}
	return fmt.Sprintf("%s, %d processors, Linux %s, prywalk %s; load average %.1f to %.1f. %d Hz.\n\n%s",
		machine.CPUModel(), runtime.NumCPU(),
		machine.Kernel(), revisions(all), least, most, s.freq, table(all))
}

func table(all []row) *markdown.Table {
	t := markdown.NewTable("program", "n", "complete, % (95 % interval)", "incomplete", "stops, µs: p50, p99, longest",
		"load")
	for i := range all {
		r := &all[i]
		if r.Now == nil || r.Error != "" {
			t.Row(r.Name, "-", r.failure(), "", "", "")
			continue
		}
		t.Row(r.Name, fmt.Sprint(r.Now.Running), r.Now.complete(), r.Now.reasons(), lengths(r.Now.Stats.StopUS),
			fmt.Sprintf("%.1f", r.Load))
	}
	return t
}

func (r *row) failure() string { return strings.SplitN(r.Error, "\n", 2)[0] }

func (f *figures) complete() string {
	share, low, high := f.share()
	return fmt.Sprintf("%s (%s to %s)", percent(share), percent(low), percent(high))
}

func (f *figures) reasons() string {
	all := map[string]int64{}
	for _, c := range f.Classes {
		all[c.Reason] += c.Samples
	}
	var text []string
	for _, reason := range byCount(all) {
		if all[reason] > 0 {
			text = append(text, fmt.Sprintf("%s %d", reason, all[reason]))
		}
	}
	return strings.Join(text, ", ")
}

func details(all []row) *markdown.Table {
	t := markdown.NewTable("program", "n", "complete, % (95 % interval)", "before (n)",
		"frames: cfi, fp, heuristic, scan, %", "copied, KiB: median, p99",
		"stop, µs: p50, p99, longest", "over 262 µs, %", "own CPU, µs a look (before)", "unobserved, % of CPU",
		"late stops, longest", "load, commit")
	for i := range all {
		r := &all[i]
		if r.Now == nil || r.Error != "" {
			t.Row(r.Name, "-", r.failure())
			continue
		}
		f, st := r.Now, &r.Now.Stats
		t.Row(r.Name, fmt.Sprint(f.Running), f.complete(), r.before(),
			methods(st.FramesByMethod), copied(st.CopiedBytes), lengths(st.StopUS), longStops(st), ownCPU(r),
			fmt.Sprintf("%.1f", per(st.CPUUnobservedS, st.CPUTargetS)), st.lateStops(),
			fmt.Sprintf("%.1f, %s", r.Load, r.Revision))
	}
	return t
}

func (r *row) before() string {
	if r.Before == nil {
		return ""
	}
	share, _, _ := r.Before.share()
	return fmt.Sprintf("%s (%d)", percent(share), r.Before.Running)
}

func percent(x float64) string {
	if x < 1 && x > 0.9999 {
		return "99.99"
	}
	return fmt.Sprintf("%.2f", 100*x)
}

func per(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * part / whole
}

func methods(counts map[string]int64) string {
	var sum int64
	for m, n := range counts {
		if m != "context" {
			sum += n
		}
	}
	var shares []string
	for _, m := range []string{"cfi", "fp", "heuristic", "scan"} {
		shares = append(shares, fmt.Sprintf("%.1f", per(float64(counts[m]), float64(sum))))
	}
	return strings.Join(shares, ", ")
}

func copied(s *spread) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f, %.1f", s.P50/1024, s.P99/1024)
}

func lengths(s *spread) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f, %.0f, %.0f", s.P50, s.P99, s.Max)
}

func longStops(s *runStats) string {
	text := fmt.Sprintf("%.2f", per(float64(s.long()), float64(s.Stopped)))
	counts := map[string]int64{}
	for cause, l := range s.LongStops {
		counts[cause] = l.N
	}
	for _, cause := range byCount(counts) {
		text += fmt.Sprintf(" %s %d", cause, counts[cause])
	}
	return text
}

func byCount(m map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if m[a] != m[b] {
			return int(m[b] - m[a])
		}
		return strings.Compare(a, b)
	})
}

func ownCPU(r *row) string {
	each := func(f *figures) string {
		if f == nil || f.Stats.Stopped+f.Stats.ReadPassively == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f", 1e6*f.Stats.CPUSelfS/float64(f.Stats.Stopped+f.Stats.ReadPassively))
	}
	if r.Before == nil {
		return each(r.Now)
	}
	return each(r.Now) + " (" + each(r.Before) + ")"
}

func incomplete(all []row) *markdown.Table {
	t := markdown.NewTable("program", "stacks", "% of all", "reason", "outermost frame that was found")
	for i := range all {
		r := &all[i]
		if r.Now == nil || r.Error != "" {
			continue
		}
		for _, c := range r.Now.Classes {
			if c.Samples == 0 {
				continue
			}
			t.Row(r.Name, fmt.Sprint(c.Samples), fmt.Sprintf("%.2f", per(float64(c.Samples), float64(r.Now.Running))), c.Reason,
				c.Place)
		}
	}
	return t
}

func summary(all []row) string {
	heads := []string{"programs", "stacks of running threads", "complete, mean of the programs, %", "least"}
	compared := slices.ContainsFunc(all, func(r row) bool { return r.Before != nil })
	if compared {
		heads = append(heads, "before")
	}
	t := markdown.NewTable(heads...)
	for _, group := range groups {
		var n int64
		var now, before []float64
		worst, least := "", 2.0
		for i := range all {
			r := &all[i]
			if r.Group != group || r.Now == nil || r.Error != "" {
				continue
			}
			share, _, _ := r.Now.share()
			n, now = n+r.Now.Running, append(now, share)
			if share < least {
				worst, least = r.Name, share
			}
			if r.Before != nil {
				share, _, _ = r.Before.share()
				before = append(before, share)
			}
		}
		if len(now) == 0 {
			continue
		}
		cells := []string{fmt.Sprintf("%s (%d)", group, len(now)), fmt.Sprint(n), percent(mean(now)),
			worst + " " + percent(least)}
		switch {
		case len(before) == len(now):
			cells = append(cells, percent(mean(before)))
		case compared:
			cells = append(cells, "-")
		}
		t.Row(cells...)
	}
	return t.String()
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

func (r *row) brief() string {
	if r.Error != "" || r.Now == nil {
		return fmt.Sprintf("%-20s failed: %s", r.Name, strings.SplitN(r.Error, "\n", 2)[0])
	}
	share, _, _ := r.Now.share()
	return fmt.Sprintf("%-20s %s %% of %d complete, before %s, load %.1f", r.Name, percent(share), r.Now.Running,
		r.before(), r.Load)
}
