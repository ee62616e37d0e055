// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"prywalk/internal/bench"
)

const (
	// disturbed is the share of one processor from which on what others took makes a row no
	// measure of the tool.
	disturbed = 0.1
	// robbed is the same of what the hypervisor took in the windows with the tool: that is missing in these alone,
	// and the promises are of 1 to 7 %.
	robbed = 0.03
)

// promise is the least ratio that prywalk is to reach in a row: with a processor to
// spare, and with every processor busy.
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

// promised reports whether something is promised for a row: for prywalk on busy threads up to 1,000 Hz.
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

// knownOf keeps of a result what the argument known of [broken] needs: prywalk's rows for which something is promised,
// in which others took little. It fails if none is left. The file is small then, and says nothing that is not used.
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

// broken lists the rows of busy threads up to 1,000 Hz in which prywalk surely does not reach what is promised: the
// whole interval is below it. known, if not nil, is an earlier result of the same kind of machine. Where it did not
// reach the promise either, the lower end of its intervals takes the promise's place. Rows in which others or the
// hypervisor took a good part of a processor say nothing of prywalk, and none does where nothing is known of the
// kind of machine. They are in unjudged.
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

// disturbance says what took so much of the processors that a row says nothing of the tool, "" if nothing did.
func disturbance(r *bench.Row) string {
	switch {
	case r.Others != nil && *r.Others > disturbed:
		return fmt.Sprintf("other programs used %.0f%% of a processor", 100**r.Others)
	case r.Stolen != nil && *r.Stolen > robbed:
		return fmt.Sprintf("the hypervisor took %.0f%% of a processor meanwhile", 100**r.Stolen)
	}
	return ""
}

// alike reports whether two machines are of one kind: what a stop costs depends on the processor, and on
// how many there are.
func alike(m, other *bench.Machine) bool {
	return m.Model == other.Model && m.Processors == other.Processors
}

// lowest gives the lowest end of the intervals of rows that are like one of another result. Both have the same
// frequency, and a processor to spare or none. It is 1 if there is none. The number of threads does not matter:
// that is the promise.
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
