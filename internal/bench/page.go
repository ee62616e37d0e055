package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"prywalk/internal/markdown"
)

// Read reads results that were written as JSON, and puts them together: the machine
// is that of the first.
func Read(paths []string) (*Result, error) {
	var all *Result
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var r Result
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s is no result of prywalk bench --json: %w", path, err)
		}
		if all == nil {
			all = &r
			continue
		}
		all.Rows = append(all.Rows, r.Rows...)
		all.Skipped = append(all.Skipped, r.Skipped...)
	}
	return all, nil
}

// sectionName is the page's section that has the tables.
const sectionName = "bench"

// WritePage puts the tables of a result into their section of a page, and above them
// the chart, if that is not "".
func WritePage(path, chart string, r *Result) error {
	text := Markdown(r)
	if rel, err := filepath.Rel(filepath.Dir(path), chart); chart != "" && err == nil {
		text = fmt.Sprintf("![throughput with and without each tool](%s)\n\n%s", filepath.ToSlash(rel), text)
	}
	return markdown.Replace(path, sectionName, func(string) string { return text })
}

// Markdown makes a table of each workload, prywalk's rows first, and one of waits.
func Markdown(r *Result) string {
	var b strings.Builder
	m := &r.Machine
	fmt.Fprintf(&b, "%s, %d processors, Linux %s, %s, scheduling %s, load average %.1f before the run.\n",
		m.Model, m.Processors, m.Kernel, m.Prywalk, m.Scheduling, m.Load)
	var names []string
	byName := map[string][]Row{}
	for _, row := range r.Rows {
		name := row.workload()
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], row)
	}
	for _, name := range names {
		fmt.Fprintf(&b, "\n### Workload %s\n\n", name)
		throughput(&b, byName[name])
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

// throughput writes the table of ratios and counts.
func throughput(b *strings.Builder, rows []Row) {
	b.WriteString("| tool | threads | running | Hz | pairs | throughput with / without | 95 % interval | others | stops/s | calls a tick | own CPU | CPU after | memory | recording a minute | samples/s of asked | complete | freeze p50, p99, max µs |\n")
	b.WriteString("|" + strings.Repeat(" --- |", 17) + "\n")
	for _, peers := range []bool{false, true} {
		for i := range rows {
			if r := &rows[i]; (r.Peer != "") == peers {
				b.WriteString(r.markdown())
			}
		}
	}
}

// markdown is one line of the table.
func (r *Row) markdown() string {
	freeze, threads := "", fmt.Sprint(r.Threads)
	if r.Freeze != nil {
		freeze = fmt.Sprintf("%.0f, %.0f, %.0f", r.Freeze.P50, r.Freeze.P99, r.Freeze.Max)
	}
	if r.Depth > 0 {
		threads += fmt.Sprintf(", depth %d", r.Depth)
	}
	wide := ""
	if r.Wide {
		wide = " (wider than asked for)"
	}
	return fmt.Sprintf("| %s | %s | %d | %.0f | %d | %.4f | %.4f to %.4f%s | %s | %s | %s | %s | %s | %s | %s | %.0f of %.0f | %s | %s |\n",
		r.tool(), threads, r.Running, r.Freq, r.Pairs, r.Ratio, r.Low, r.High, wide, known(r.Others, 100, "%.0f %%"), known(r.StopsPerS, 1, "%.1f"),
		known(r.SyscallsPerTick, 1, "%.1f"), known(r.CPUSelf, 100, "%.2f %%"), known(r.CPUAfter, 100, "%.2f %%"),
		known(r.MemoryMB, 1, "%.0f MB"), known(r.RecordingMB, 1, "%.2f MB"), r.SamplesPerS, r.AskedPerS, known(r.Complete, 100, "%.2f %%"), freeze)
}

// waits writes the table of waits, if there are any.
func waits(b *strings.Builder, rows []Row) {
	head := "\n| tool | threads | running | Hz | waits | p50 without, with µs | p99 | p99.9 | p99.9 with / without | 95 % interval |\n|" + strings.Repeat(" --- |", 10) + "\n"
	for _, r := range rows {
		l := r.Latency
		if l == nil {
			continue
		}
		changed := "- | - |"
		if c := l.P999; c != nil {
			changed = fmt.Sprintf("%.3f | %.3f to %.3f |", c.Ratio, c.Low, c.High)
		}
		fmt.Fprintf(b, "%s| %s | %d | %d | %.0f | %d, %d | %.1f, %.1f | %.1f, %.1f | %.1f, %.1f | %s\n", head, r.tool(), r.Threads, r.Running, r.Freq,
			l.Without.N, l.With.N, l.Without.P50, l.With.P50, l.Without.P99, l.With.P99, l.Without.P999, l.With.P999, changed)
		head = ""
	}
}
