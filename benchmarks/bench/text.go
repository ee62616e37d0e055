// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"

	"prywalk/internal/base/printable"
)

// Header writes the column heads.
func Header(w io.Writer) {
	printable.Fprintf(w, "%8s %8s %6s %6s  %-23s %8s %10s %8s %9s %8s %8s  %s\n", "threads", "running", "Hz", "pairs",
		"throughput with/without", "stops/s", "calls/tick", "own cpu", "samples/s", "complete", "memory",
		"stop µs p50 p99 max")
}

// Line writes a row.
func Line(w io.Writer, r Row) {
	stop := "-"
	if r.StopTimes != nil {
		stop = fmt.Sprintf("%.0f %.0f %.0f", r.StopTimes.P50, r.StopTimes.P99, r.StopTimes.Max)
	}
	printable.Fprintf(w, "%8d %8d %6.0f %6d  %.4f [%.4f, %.4f] %8s %10s %8s %9.0f %8s %8s  %s", r.Threads, r.Running,
		r.Freq,
		r.Pairs, r.Ratio, r.Low, r.High, Figure(r.StopsPerS, 1, "%.1f"), Figure(r.SyscallsPerTick, 1, "%.1f"),
		Figure(r.CPUSelf, 100, "%.2f%%"),
		r.SamplesPerS, Figure(r.Complete, 100, "%.2f%%"), Figure(r.MemoryMB, 1, "%.0f MB"), stop)
	if r.Workload != "" {
		printable.Fprintf(w, "  %s", r.Workload)
	}
	if r.Depth > 0 {
		printable.Fprintf(w, " depth %d", r.Depth)
	}
	if r.Peer != "" {
		printable.Fprintf(w, "  %s, then %s of cpu", r.Peer, Figure(r.CPUAfter, 100, "%.2f%%"))
	}
	if l := r.Latency; l != nil {
		printable.Fprintf(w, "\n%29s waits µs p50 p99 p99.9: %.1f %.1f %.1f without, %.1f %.1f %.1f with", "",
			l.Without.P50, l.Without.P99, l.Without.P999, l.With.P50, l.With.P99, l.With.P999)
	}
	printable.Fprintf(w, "\n")
}

// Summary writes whether many threads cost more than few.
func Summary(w io.Writer, r *Result) {
	names, byName := r.ByWorkload()
	for _, name := range names {
		for _, f := range CompareThreadCounts(byName[name]) {
			printable.Fprintf(w, "%s, %d running, %.0f Hz: %d threads are %s %d: %s\n", name, f.Fewest.Running, f.Fewest.Freq,
				f.Most.Threads, f.Verdict(), f.Fewest.Threads, f.Text())
		}
	}
}

// Figure formats x × factor; "-" if unknown.
func Figure(x *float64, factor float64, format string) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf(format, factor**x)
}
