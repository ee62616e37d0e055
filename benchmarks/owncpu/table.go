// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"prywalk/benchmarks/bench/tools"
	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/stats"
)

func table(cells []cell) string {
	t := markdown.NewTable("threads", "running", "Hz", "tool", "processor time a second, ms (least to most)",
		"of it while it looks", "stacks/s", "complete", "µs a stack",
		"prywalk's time to its, same rate", "prywalk takes", "to its, for each stack", "prywalk takes")
	for i := range cells {
		c := &cells[i]
		for _, name := range c.order {
			t.Row(c.row(name)...)
		}
	}
	return t.String()
}

func (c *cell) row(name string) []string {
	runs := c.runs[name]
	cpu, stacks, each, steady := make([]float64, len(runs)), make([]float64, len(runs)), make([]float64, len(runs)),
		make([]float64, len(runs))
	var complete, all int64
	for i := range runs {
		cpu[i], stacks[i], each[i] = figures(&runs[i])
		steady[i] = 1e3 * runs[i].CPU / max(runs[i].Seconds, 1e-9)
		complete, all = complete+runs[i].Complete, all+runs[i].Samples
	}
	low, high := span(cpu)
	out := []string{
		fmt.Sprint(c.threads), fmt.Sprint(c.running), fmt.Sprint(c.freq), nameOf(name),
		fmt.Sprintf("%.1f (%.1f to %.1f)", stats.Median(cpu), low, high), fmt.Sprintf("%.1f", stats.Median(steady)),
		fmt.Sprintf("%.0f", stats.Median(stacks)), share(complete, all),
		fmt.Sprintf("%.0f", stats.Median(each)),
	}
	if name == "" {
		return append(out, "", "", "", "")
	}
	return append(append(out, c.compared(name, func(t *tools.Totals) float64 { x, _, _ := figures(t); return x })...),
		c.compared(name, func(t *tools.Totals) float64 { _, _, x := figures(t); return x })...)
}

// figures are ms per second of sampling, stacks per second, and µs per stack; 0: no stack.
func figures(t *tools.Totals) (cpu, stacks, each float64) {
	seconds := max(t.Seconds, 1e-9)
	cpu, stacks = 1e3*t.Whole/seconds, float64(t.Samples)/seconds
	if t.Samples > 0 {
		each = 1e6 * t.Whole / float64(t.Samples)
	}
	return cpu, stacks, each
}

func span(xs []float64) (low, high float64) {
	for i, x := range xs {
		if i == 0 {
			low, high = x, x
		}
		low, high = min(low, x), max(high, x)
	}
	return low, high
}

// share formats the share of complete stacks; complete is −1 if unknown.
func share(complete, all int64) string {
	if complete < 0 || all <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(complete)/float64(all))
}

func (c *cell) compared(name string, figure func(*tools.Totals) float64) []string {
	var ratios []float64
	own, other := c.runs[""], c.runs[name]
	for i := range min(len(own), len(other)) {
		if x := figure(&other[i]); x > 0 {
			ratios = append(ratios, figure(&own[i])/x)
		}
	}
	if len(ratios) == 0 {
		return []string{"-", "-"}
	}
	low, high := stats.MedianInterval(ratios)
	verdict := "as much"
	switch {
	case high < 1:
		verdict = "less"
	case low > 1:
		verdict = "more"
	}
	return []string{fmt.Sprintf("%.2f (%.2f to %.2f)", stats.Median(ratios), low, high), verdict}
}
