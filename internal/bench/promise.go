package bench

import "fmt"

// promise is the least ratio that prywalk is to reach in a row: with a processor to
// spare, and with every processor busy.
func (r *Row) promise(processors int) float64 {
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

// Broken lists the rows of busy threads up to 1,000 Hz in which prywalk surely does
// not reach what is promised: the whole interval is below it.
func Broken(r *Result) (out []string) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Peer != "" || row.Workload != "" || row.Freq > 1000 {
			continue
		}
		if least := row.promise(r.Machine.Processors); row.High < least {
			out = append(out, fmt.Sprintf("%d threads, %d running, %.0f Hz: %.4f to %.4f, promised are %.3f",
				row.Threads, row.Running, row.Freq, row.Low, row.High, least))
		}
	}
	return out
}
