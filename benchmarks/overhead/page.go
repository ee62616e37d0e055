// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prywalk/internal/bench"
	"prywalk/internal/markdown"
)

// read reads and merges results in JSON, in order. They are of one kind of machine; different builds of prywalk
// are all named, and the load is the highest.
func read(paths []string) (*bench.Result, error) {
	var all *bench.Result
	for _, path := range paths {
		text, err := readResult(path)
		if err != nil {
			return nil, err
		}
		r := &bench.Result{}
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("%s is no result of prywalk bench --json: %w", path, err)
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
		err = fmt.Errorf("%s has more than %d MB: it is no result of prywalk bench --json", path, maxResult>>20)
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

// writePage puts the tables of a result into their section of a page, below the chart, if not "".
func writePage(path, chart string, r *bench.Result) error {
	text := tables(r)
	if rel, err := filepath.Rel(filepath.Dir(path), chart); chart != "" && err == nil {
		text = fmt.Sprintf("![throughput with and without each tool](%s)\n\n%s", filepath.ToSlash(rel), text)
	}
	return markdown.Replace(path, sectionName, func(string) string { return text })
}

func tables(r *bench.Result) string {
	var b strings.Builder
	m := &r.Machine
	fmt.Fprintf(&b, "%s, %d processors, Linux %s, %s, scheduling %s, load average %.1f before the run.\n",
		m.Model, m.Processors, m.Kernel, m.Prywalk, m.Scheduling, m.Load)
	names, byName := r.ByWorkload()
	for _, name := range names {
		fmt.Fprintf(&b, "\n### Workload %s\n\n", name)
		throughput(&b, byName[name], m.Processors)
		flat(&b, byName[name])
		beside(&b, byName[name])
		waits(&b, byName[name])
	}
	for _, line := range r.Skipped {
		fmt.Fprintf(&b, "\n- %s", line)
	}
	if len(r.Skipped) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func throughput(b *strings.Builder, rows []bench.Row, processors int) {
	b.WriteString("| tool | threads | running | Hz | pairs | throughput with / without | 95 % interval | aim | others " +
		"| stops/s | calls a tick | KB a tick | own CPU | CPU after | memory | recording a minute | samples/s of asked | " +
		"complete | freeze p50, p99, max µs |\n")
	b.WriteString("|" + strings.Repeat(" --- |", 19) + "\n")
	for _, peers := range []bool{false, true} {
		for i := range rows {
			if r := &rows[i]; (r.Peer != "") == peers {
				b.WriteString(markdownOf(r, processors))
			}
		}
	}
}

func markdownOf(r *bench.Row, processors int) string {
	freeze := ""
	if r.Freeze != nil {
		freeze = fmt.Sprintf("%.0f, %.0f, %.0f", r.Freeze.P50, r.Freeze.P99, r.Freeze.Max)
	}
	wide := ""
	if r.Wide {
		wide = " (wider than asked for)"
	}
	return fmt.Sprintf("| %s | %s | %d | %.0f | %d | %.4f | %.4f to %.4f%s | %s | %s | %s | %s | %s | %s | %s | %s | "+
		"%s | %.0f of %.0f | %s | %s |\n",
		r.Tool(), target(r), r.Running, r.Freq, r.Pairs, r.Ratio, r.Low, r.High, wide, aim(r, processors),
		bench.Figure(r.Others, 100, "%.0f %%"), bench.Figure(r.StopsPerS, 1, "%.1f"),
		bench.Figure(r.SyscallsPerTick, 1, "%.1f"), bench.Figure(r.BytesPerTick, 1e-3, "%.1f"),
		bench.Figure(r.CPUSelf, 100, "%.2f %%"),
		bench.Figure(r.CPUAfter, 100, "%.2f %%"),
		bench.Figure(r.MemoryMB, 1, "%.0f MB"), bench.Figure(r.RecordingMB, 1, "%.2f MB"), r.SamplesPerS, r.AskedPerS,
		bench.Figure(r.Complete, 100, "%.2f %%"), freeze)
}

func target(r *bench.Row) string {
	if r.Depth > 0 {
		return fmt.Sprintf("%d, depth %d", r.Threads, r.Depth)
	}
	return fmt.Sprint(r.Threads)
}

func waits(b *strings.Builder, rows []bench.Row) {
	head := "\n| tool | threads | running | Hz | waits | p50 without, with µs | p99 | p99.9 | p99.9 with / without | " +
		"95 % interval | p99.9 is |\n|" + strings.Repeat(" --- |", 11) + "\n"
	for i := range rows {
		r := &rows[i]
		l := r.Latency
		if l == nil {
			continue
		}
		changed := "- | - | - |"
		if c := l.P999; c != nil {
			changed = fmt.Sprintf("%.3f | %.3f to %.3f | %s |", c.Ratio, c.Low, c.High, verdict(c))
		}
		fmt.Fprintf(b, "%s| %s | %s | %d | %.0f | %d, %d | %.1f, %.1f | %.1f, %.1f | %.1f, %.1f | %s\n", head, r.Tool(),
			target(r), r.Running, r.Freq,
			l.Without.N, l.With.N, l.Without.P50, l.With.P50, l.Without.P99, l.With.P99, l.Without.P999, l.With.P999, changed)
		head = ""
	}
}
