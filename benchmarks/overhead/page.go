// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prywalk/benchmarks/bench"
	"prywalk/benchmarks/markdown"
)

func read(paths []string) (*bench.Result, error) {
	var all *bench.Result
	for _, path := range paths {
		text, err := readResult(path)
		if err != nil {
			return nil, err
		}
		r := &bench.Result{}
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("%s is no result of overhead -json: %w", path, err)
		}
		switch {
		case all == nil:
			all = r
		case !alike(&all.Machine, &r.Machine):
			return nil, fmt.Errorf("%s is of another kind of machine (%s, %d processors) than %s; make a page of each", path,
				r.Machine.Model, r.Machine.Processors, paths[0])
		default:
			add(all, r)
		}
	}
	return all, nil
}

const maxResult = 16 << 20

func readResult(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxResult+1))
	if err == nil && len(text) > maxResult {
		err = fmt.Errorf("%s has more than %d MB: it is no result of overhead -json", path, maxResult>>20)
	}
	return text, err
}

func add(r, more *bench.Result) {
	m := &r.Machine
	if !slices.Contains(strings.Split(m.Prywalk, "; "), more.Machine.Prywalk) {
		m.Prywalk += "; " + more.Machine.Prywalk
	}
	m.Load = max(m.Load, more.Machine.Load)
	if m.Scheduling == "" {
		m.Scheduling = more.Machine.Scheduling
	}
	r.Rows = append(r.Rows, more.Rows...)
	for _, line := range more.Skipped {
		if !slices.Contains(r.Skipped, line) {
			r.Skipped = append(r.Skipped, line)
		}
	}
}

const sectionName = "bench"

func writePage(path, chart string, r *bench.Result) error {
	text := tables(r)
	if rel, err := filepath.Rel(filepath.Dir(path), chart); chart != "" && err == nil {
		text = fmt.Sprintf("![throughput with and without each tool](%s)\n\n%s", filepath.ToSlash(rel), text)
	}
	return errors.Join(markdown.WriteDataFile(path, "rows", throughput(r)),
		markdown.WriteDataFile(path, "peers", beside(r)),
		markdown.WriteDataFile(path, "waits", waits(r)),
		markdown.ReplaceSection(path, sectionName, func(string) string { return text }))
}

func tables(r *bench.Result) string {
	var b strings.Builder
	m := &r.Machine
	fmt.Fprintf(&b, "%s, %d processors, Linux %s, %s, scheduling %s, load average %.1f before the run.\n",
		m.Model, m.Processors, m.Kernel, m.Prywalk, m.Scheduling, m.Load)
	names, byName := r.ByWorkload()
	for _, name := range names {
		fmt.Fprintf(&b, "\n## Workload %s\n\n%s", name, ratios(byName[name]))
		flat(&b, byName[name])
	}
	for _, line := range r.Skipped {
		fmt.Fprintf(&b, "\n- %s", line)
	}
	if len(r.Skipped) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func ratios(rows []bench.Row) *markdown.Table {
	t := markdown.NewTable("tool", "threads", "running", "Hz", "with / without")
	for _, r := range inOrder(rows) {
		t.Row(r.Tool(), target(r), fmt.Sprint(r.Running), fmt.Sprintf("%.0f", r.Freq),
			fmt.Sprintf("%.4f (%.4f to %.4f)", r.Ratio, r.Low, r.High))
	}
	return t
}

func inOrder(rows []bench.Row) (all []*bench.Row) {
	for _, peers := range []bool{false, true} {
		for i := range rows {
			if r := &rows[i]; (r.Peer != "") == peers {
				all = append(all, r)
			}
		}
	}
	return all
}

func throughput(r *bench.Result) *markdown.Table {
	t := markdown.NewTable("workload", "tool", "threads", "running", "Hz", "pairs", "throughput with / without",
		"95 % interval", "aim", "others", "stops/s", "calls a tick", "KB a tick", "own CPU", "CPU after", "memory",
		"recording a minute", "samples/s of asked", "complete", "stop p50, p99, max µs")
	names, byName := r.ByWorkload()
	for _, name := range names {
		for _, row := range inOrder(byName[name]) {
			t.Row(append([]string{name}, figures(row, r.Machine.Processors)...)...)
		}
	}
	return t
}

func figures(r *bench.Row, processors int) []string {
	stop := ""
	if r.StopTimes != nil {
		stop = fmt.Sprintf("%.0f, %.0f, %.0f", r.StopTimes.P50, r.StopTimes.P99, r.StopTimes.Max)
	}
	wide := ""
	if r.Wide {
		wide = " (wider than asked for)"
	}
	return []string{r.Tool(), target(r), fmt.Sprint(r.Running), fmt.Sprintf("%.0f", r.Freq), fmt.Sprint(r.Pairs),
		fmt.Sprintf("%.4f", r.Ratio), fmt.Sprintf("%.4f to %.4f%s", r.Low, r.High, wide), aim(r, processors),
		bench.Figure(r.Others, 100, "%.0f %%"), bench.Figure(r.StopsPerS, 1, "%.1f"),
		bench.Figure(r.SyscallsPerTick, 1, "%.1f"), bench.Figure(r.BytesPerTick, 1e-3, "%.1f"),
		bench.Figure(r.CPUSelf, 100, "%.2f %%"), bench.Figure(r.CPUAfter, 100, "%.2f %%"),
		bench.Figure(r.MemoryMB, 1, "%.0f MB"), bench.Figure(r.RecordingMB, 1, "%.2f MB"),
		fmt.Sprintf("%.0f of %.0f", r.SamplesPerS, r.AskedPerS), bench.Figure(r.Complete, 100, "%.2f %%"), stop}
}

func target(r *bench.Row) string {
	if r.Depth > 0 {
		return fmt.Sprintf("%d, depth %d", r.Threads, r.Depth)
	}
	return fmt.Sprint(r.Threads)
}

func waits(r *bench.Result) *markdown.Table {
	t := markdown.NewTable("workload", "tool", "threads", "running", "Hz", "waits", "p50 without, with µs", "p99", "p99.9",
		"p99.9 with / without", "95 % interval", "p99.9 is")
	names, byName := r.ByWorkload()
	for _, name := range names {
		for i := range byName[name] {
			row := &byName[name][i]
			l := row.Latency
			if l == nil {
				continue
			}
			changed := []string{"-", "-", "-"}
			if c := l.P999; c != nil {
				changed = []string{fmt.Sprintf("%.3f", c.Ratio), fmt.Sprintf("%.3f to %.3f", c.Low, c.High), verdict(c)}
			}
			t.Row(append([]string{name, row.Tool(), target(row), fmt.Sprint(row.Running), fmt.Sprintf("%.0f", row.Freq),
				fmt.Sprintf("%d, %d", l.Without.N, l.With.N), fmt.Sprintf("%.1f, %.1f", l.Without.P50, l.With.P50),
				fmt.Sprintf("%.1f, %.1f", l.Without.P99, l.With.P99),
				fmt.Sprintf("%.1f, %.1f", l.Without.P999, l.With.P999)}, changed...)...)
		}
	}
	return t
}
