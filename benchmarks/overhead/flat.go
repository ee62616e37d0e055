// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"prywalk/benchmarks/bench"
)

func flat(b *strings.Builder, rows []bench.Row) {
	head := "\n| running | Hz | threads | ratio | threads | ratio | difference | 95 % interval | many threads are … " +
		"few |\n|" + strings.Repeat(" --- |", 9) + "\n"
	for _, f := range bench.CompareThreadCounts(rows) {
		fmt.Fprintf(b, "%s| %d | %.0f | %d | %.4f | %d | %.4f | %+.4f | %+.4f to %+.4f | %s |\n", head, f.Fewest.Running,
			f.Fewest.Freq,
			f.Fewest.Threads, f.Fewest.Ratio, f.Most.Threads, f.Most.Ratio, f.Middle, f.Low, f.High, f.Verdict())
		head = ""
	}
}
