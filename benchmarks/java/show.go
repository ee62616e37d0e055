// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"prywalk/benchmarks/stats"
	"prywalk/internal/base/statistics"
)

func show(tools []*tool) {
	fmt.Println("| tool | n | throughput, ratio | orders for the workers' processor time, ratio | p99.9 of an order, " +
		"ms: without, with | stacks | begin with the thread's first method, % |")
	fmt.Println("|" + strings.Repeat(" --- |", 7))
	for _, t := range tools {
		fmt.Printf("| %s | %d | %s | %s | %.2f, %.2f | %.0f | %.2f |\n", t.name, len(t.ratios), ratio(t.ratios),
			ratio(t.each), t.without.Quantile(0.999)/1e6, t.with.Quantile(0.999)/1e6, t.stacks.n,
			100*t.stacks.whole/t.stacks.n)
	}
	showStages(tools)
	showTop(tools)
	for _, t := range tools {
		fmt.Printf("%s: ratios %.3f and %.3f; the rest begins with %v", t.name, t.ratios, t.each, t.stacks.ends)
		if t.cpu > 0 {
			fmt.Printf("; own processor time %.2f s in %d recordings", t.cpu.Seconds(), t.windows)
		}
		fmt.Println()
	}
}

func ratio(xs []float64) string {
	low, high := stats.MedianInterval(xs)
	return fmt.Sprintf("%.3f (%.3f to %.3f)", stats.Median(xs), low, high)
}

func showStages(tools []*tool) {
	fmt.Println("\n| share of | " + strings.Join(names(tools), " | ") + " |\n|" + strings.Repeat(" --- |", len(tools)+1))
	for i, stage := range stages {
		fmt.Printf("| `%s` |", stage)
		for _, t := range tools {
			all, seen := 0.0, 0.0
			for k := range stages {
				all += t.truth[k]
				seen += t.stacks.stages[k]
			}
			fmt.Printf(" %s of %.1f |", share(t.stacks.stages[i], seen), 100*t.truth[i]/all)
		}
		fmt.Println()
	}
	fmt.Println()
}

const mostMethods = 20

func showTop(tools []*tool) {
	fmt.Println("| method | " + strings.Join(names(tools), " | ") + " |\n|" + strings.Repeat(" --- |", len(tools)+1))
	for _, method := range top(tools[0]) {
		fmt.Printf("| `%s` |", method)
		for _, t := range tools {
			fmt.Printf(" %s |", share(t.stacks.top[method], t.stacks.n))
		}
		fmt.Println()
	}
	fmt.Println()
	for _, t := range tools[1:] {
		common := 0
		for _, method := range top(t) {
			if slices.Contains(top(tools[0]), method) {
				common++
			}
		}
		fmt.Printf("%s has %d of %s's %d\n", t.name, common, tools[0].name, mostMethods)
	}
}

func top(t *tool) []string {
	all := slices.SortedFunc(maps.Keys(t.stacks.top), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.stacks.top[b], t.stacks.top[a]), strings.Compare(a, b))
	})
	return all[:min(len(all), mostMethods)]
}

func share(k, n float64) string {
	if n == 0 {
		return "none"
	}
	low, high := statistics.Wilson(k, n)
	return fmt.Sprintf("%.1f (%.1f to %.1f)", 100*k/n, 100*low, 100*high)
}

func names(tools []*tool) (out []string) {
	for _, t := range tools {
		out = append(out, t.name)
	}
	return out
}
