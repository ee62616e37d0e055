// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"

	"prywalk/benchmarks/stats"
)

// spread is the median of some figures, with the least and the most; "" for none.
func spread(xs []float64, format string) string {
	if len(xs) == 0 {
		return ""
	}
	return fmt.Sprintf(format+" ("+format+" to "+format+")", stats.Median(xs), slices.Min(xs), slices.Max(xs))
}

// interval is the median of some figures, with its 95 % interval.
func interval(xs []float64, format string) string {
	low, high := stats.MedianInterval(xs)
	return fmt.Sprintf(format+" ("+format+" to "+format+")", stats.Median(xs), low, high)
}

// percents turns shares into percent.
func percents(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = 100 * x
	}
	return out
}

// say tells how far it is, to whoever waits.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
