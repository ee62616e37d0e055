// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"prywalk/benchmarks/bench"
)

const (
	// mostOthers is the share of one processor, taken by others, from which a row is no measure of the tool.
	mostOthers = 0.1
	// mostStolen is the same for the hypervisor in windows with the tool: it is missing in these alone.
	mostStolen = 0.03
)

// promise is the least ratio that is promised for a row.
func promise(r *bench.Row, processors int) float64 {
	spare := r.Running < processors
	switch {
	case r.Freq <= 100 && spare:
		return 0.99
	case r.Freq <= 100:
		return 0.985
	case spare:
		return 0.97
	}
	return 0.93
}

func promised(r *bench.Row) bool { return r.Peer == "" && r.Workload == "" && r.Freq <= 1000 }

func aim(r *bench.Row, processors int) string {
	if !promised(r) {
		return ""
	}
	least := promise(r, processors)
	switch {
	case r.Low >= least:
		return fmt.Sprintf("%v: reached", least)
	case r.High < least:
		return fmt.Sprintf("%v: missed", least)
	}
	return fmt.Sprintf("%v: open", least)
}

func knownOf(r *bench.Result) (*bench.Result, error) {
	out := &bench.Result{Machine: r.Machine, Rows: []bench.Row{}}
	for i := range r.Rows {
		if row := &r.Rows[i]; promised(row) && disturbance(row) == "" {
			out.Rows = append(out.Rows, bench.Row{
				Threads: row.Threads, Running: row.Running, Freq: row.Freq, Pairs: row.Pairs,
				Ratio: row.Ratio, Low: row.Low, High: row.High, Others: row.Others, SamplesPerS: row.SamplesPerS,
				AskedPerS: row.AskedPerS,
			})
		}
	}
	if len(out.Rows) == 0 {
		return nil,
			errors.New("there is no row of prywalk on the workload busy, undisturbed by others, to keep; measure on a quiet " +
				"machine")
	}
	return out, nil
}

// broken returns texts of the rows whose whole interval is below the promise and, with known, below the lowest end that
// known has for such rows. unjudged are those of disturbed rows, and all if known is of another kind of machine. known
// may be nil.
func broken(r, known *bench.Result) (missed, unjudged []string) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if !promised(row) {
			continue
		}
		least := promise(row, r.Machine.Processors)
		if known != nil {
			least = min(least, lowest(known, row, r.Machine.Processors))
		}
		what := fmt.Sprintf("%d threads, %d running, %.0f Hz: %.4f to %.4f, promised or known are %.4f",
			row.Threads, row.Running, row.Freq, row.Low, row.High, least)
		switch {
		case row.High >= least:
		case known != nil && !alike(&known.Machine, &r.Machine):
			unjudged = append(unjudged, what+"; what is known is of another kind of machine")
		case disturbance(row) != "":
			unjudged = append(unjudged, what+"; "+disturbance(row))
		default:
			missed = append(missed, what)
		}
	}
	return missed, unjudged
}

func disturbance(r *bench.Row) string {
	switch {
	case r.Others != nil && *r.Others > mostOthers:
		return fmt.Sprintf("other programs used %.0f%% of a processor", 100**r.Others)
	case r.Stolen != nil && *r.Stolen > mostStolen:
		return fmt.Sprintf("the hypervisor took %.0f%% of a processor meanwhile", 100**r.Stolen)
	}
	return ""
}

func alike(m, other *bench.Machine) bool {
	return m.Model == other.Model && m.Processors == other.Processors
}

// lowest is the lowest end of the intervals of rows that have like's frequency and, as like, a spare processor or none;
// 1: no such row.
func lowest(r *bench.Result, like *bench.Row, processors int) float64 {
	least := 1.0
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Peer == "" && row.Workload == "" && row.Freq == like.Freq &&
			(row.Running < r.Machine.Processors) == (like.Running < processors) {
			least = min(least, row.Low)
		}
	}
	return least
}
