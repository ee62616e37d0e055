// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/stats"
	"prywalk/internal/base/statistics"
)

type figures struct {
	Name string `json:"name"`
	What string `json:"what"`
	// Answers are those of a server in windows without a tool, P999 their 99.9 % length, ms.
	Answers int     `json:"answers,omitempty"`
	P999    float64 `json:"p999_ms,omitempty"`
	Rows    []row   `json:"rows"`
}

type row struct {
	Tool string `json:"tool"`
	Freq int    `json:"freq"`
	// N windows, the median of their ratios of throughput, and its 95 % interval.
	N                int `json:"n"`
	Ratio, Low, High float64
	// Stacks with a Python function, cut and wrong ones, observations without a stack.
	Stacks, Cut, Wrong, Freed, Failed float64
	Unsaid                            bool               `json:",omitempty"` // how many samples failed is not known
	Silent                            int                `json:",omitempty"` // windows without a file
	Calls                             map[string]float64 `json:",omitempty"`
	// CPU is the tool's share of one processor in the windows. Start and End are medians of its CPU time before and
	// after a window, s.
	CPU        float64
	Start, End float64
	// Interpreter and Named are prywalk's CPU time with the interpreter on the stack, and with names.
	Interpreter float64 `json:",omitempty"`
	Named       float64 `json:",omitempty"`
	Answers     int     `json:",omitempty"`
	P999        float64 `json:",omitempty"`
	// Lines are the shares of the top lines; Differ counts those for which prywalk's share differs.
	Lines  []lineShare `json:",omitempty"`
	Differ int
}

type lineShare struct {
	Line        string
	Share, Half float64
}

const mostLines = 20

func lineOf(s *stack) string {
	f := &s.frames[len(s.frames)-1]
	return fmt.Sprintf("%s (%s:%d)", f.function, f.file, f.line)
}

func topLines(all []measured) []string {
	sum := map[string]float64{}
	for i := range all {
		if all[i].tool.name != "prywalk" {
			continue
		}
		for _, l := range all[i].looks {
			for j := range l.profile.stacks {
				if s := &l.profile.stacks[j]; len(s.frames) > 0 {
					sum[lineOf(s)] += s.weight
				}
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(sum), func(a, b string) int {
		return cmp.Or(cmp.Compare(sum[b], sum[a]), cmp.Compare(a, b))
	})
	return names[:min(len(names), mostLines)]
}

func (m *measured) slices(line string) (list []stats.Slice) {
	for _, l := range m.looks {
		var s stats.Slice
		for i := range l.profile.stacks {
			k := &l.profile.stacks[i]
			if len(k.frames) == 0 {
				continue
			}
			s.All += k.weight
			s.Count += k.count
			if lineOf(k) == line {
				s.Part += k.weight
			}
		}
		list = append(list, s)
	}
	return list
}

func (r *row) lines(m *measured, all []measured, top []string) {
	if m.tool.trampoline {
		return
	}
	i := slices.IndexFunc(all, func(o measured) bool { return o.tool.name == "prywalk" && o.tool.freq == m.tool.freq })
	if i < 0 {
		return
	}
	var p []float64
	for _, line := range top {
		c := stats.ComparePairs(all[i].slices(line), m.slices(line))
		half := 0.0
		if c.DF > 0 {
			half = statistics.StudentBound(0.05, c.DF) * c.B.SE
		}
		if math.IsNaN(half) {
			half = 0
		}
		r.Lines = append(r.Lines, lineShare{line, 100 * c.B.P, 100 * half})
		p = append(p, c.PValue)
	}
	for _, differs := range stats.Holm(p, 0.05) {
		if differs {
			r.Differ++
		}
	}
}

type allFigures []figures

func load(file string) (*allFigures, error) {
	a := &allFigures{}
	if file == "" {
		return a, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	return a, json.Unmarshal(text, a)
}

func (a *allFigures) add(f *figures) {
	*a = slices.DeleteFunc(*a, func(o figures) bool { return o.Name == f.Name })
	*a = append(*a, *f)
	names := programNames()
	slices.SortFunc(*a, func(x, y figures) int { return slices.Index(names, x.Name) - slices.Index(names, y.Name) })
}

func (a *allFigures) only(name string) *allFigures {
	one := slices.Clone(*a)
	one = slices.DeleteFunc(one, func(f figures) bool { return f.Name != name })
	return &one
}

func (a *allFigures) write(file, page string) error {
	if file != "" {
		text, err := json.MarshalIndent(a, "", " ")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o600)
		}
		if err != nil {
			return err
		}
	}
	if page == "" {
		return nil
	}
	return markdown.ReplaceSection(page, "peers", func(string) string { return "\n" + a.markdown() + "\n" })
}

const shownLines = 3

func (a *allFigures) markdown() string {
	var b strings.Builder
	for i := range *a {
		f := &(*a)[i]
		fmt.Fprintf(&b, "**%s: %s.**", f.Name, f.What)
		if f.Answers > 0 {
			fmt.Fprintf(&b, " p99.9 of answers without a tool: %.1f ms (%d).", f.P999, f.Answers)
		}
		b.WriteString("\n\n" + f.table() + "\n")
		if t := f.top(); t != "" {
			b.WriteString(t + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func (f *figures) table() string {
	columns := []string{"tool", "Hz", "throughput, n", "own CPU", "its start, end", "stacks", "cut", "wrong", "failed",
		"lines that differ"}
	if f.Answers > 0 {
		columns = append(columns, "p99.9")
	}
	t := markdown.NewTable(columns...)
	for i := range f.Rows {
		r := &f.Rows[i]
		failed := fmt.Sprintf("%.0f", r.Failed)
		if r.Unsaid {
			failed = "not told"
		}
		differ := fmt.Sprintf("%d of %d", r.Differ, len(r.Lines))
		if len(r.Lines) == 0 || r.Tool == "prywalk" {
			differ = "–"
		}
		cells := []string{r.Tool, fmt.Sprint(r.Freq), fmt.Sprintf("%.3f (%.3f to %.3f), %d", r.Ratio, r.Low, r.High, r.N),
			fmt.Sprintf("%.1f %%", 100*r.CPU), fmt.Sprintf("%.2f, %.2f s", r.Start, r.End),
			r.stacks(), fmt.Sprintf("%.0f", r.Cut),
			fmt.Sprintf("%.0f", r.Wrong), failed, differ}
		if f.Answers > 0 {
			cells = append(cells, fmt.Sprintf("%.1f ms (%d)", r.P999, r.Answers))
		}
		t.Row(cells...)
	}
	return t.String()
}

func (r *row) stacks() string {
	if r.Silent > 0 {
		return fmt.Sprintf("%.0f (no file: %d of %d)", r.Stacks, r.Silent, r.N)
	}
	return fmt.Sprintf("%.0f", r.Stacks)
}

func (f *figures) top() string {
	var rows []*row
	columns := []string{"line"}
	for i := range f.Rows {
		if r := &f.Rows[i]; r.Freq == 1000 && len(r.Lines) > 0 {
			rows = append(rows, r)
			columns = append(columns, r.Tool)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	t := markdown.NewTable(columns...)
	for i := range min(shownLines, len(rows[0].Lines)) {
		cells := []string{"`" + rows[0].Lines[i].Line + "`"}
		for _, r := range rows {
			cells = append(cells, fmt.Sprintf("%.1f ± %.1f %%", r.Lines[i].Share, r.Lines[i].Half))
		}
		t.Row(cells...)
	}
	return t.String()
}
