package bench

import (
	"fmt"
	"io"
)

// Header writes the heads of the table's columns.
func Header(w io.Writer) {
	fmt.Fprintf(w, "%8s %8s %6s %6s  %-23s %8s %9s %8s %9s %8s  %s\n", "threads", "running", "Hz", "pairs",
		"throughput with/without", "stops/s", "calls/tick", "own cpu", "samples/s", "complete", "freeze µs p50 p99 max")
}

// Line writes one row of the table.
func Line(w io.Writer, r Row) {
	freeze := "-"
	if r.Freeze != nil {
		freeze = fmt.Sprintf("%.0f %.0f %.0f", r.Freeze.P50, r.Freeze.P99, r.Freeze.Max)
	}
	fmt.Fprintf(w, "%8d %8d %6.0f %6d  %.4f [%.4f, %.4f] %8.1f %10.1f %7.2f%% %9.0f %7.2f%%  %s %s\n", r.Threads, r.Running, r.Freq,
		r.Pairs, r.Ratio, r.Low, r.High, r.StopsPerS, r.SyscallsPerTick, 100*r.CPUSelf, r.SamplesPerS, 100*r.Complete, freeze, r.Peer)
}
