// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"

	"prywalk/benchmarks/stats"
)

func spread(xs []float64, format string) string {
	if len(xs) == 0 {
		return ""
	}
	return fmt.Sprintf(format+" ("+format+" to "+format+")", stats.Median(xs), slices.Min(xs), slices.Max(xs))
}

func interval(xs []float64, format string) string {
	low, high := stats.MedianInterval(xs)
	return fmt.Sprintf(format+" ("+format+" to "+format+")", stats.Median(xs), low, high)
}

func percents(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = 100 * x
	}
	return out
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
