package bench

import (
	"fmt"
	"strings"
)

// Beside compares prywalk's row with a peer's on the same target at the same frequency.
type Beside struct {
	Own, Peer *Row
	// Difference of the ratios, prywalk's less the peer's, and its 95 % interval.
	Difference, Low, High float64
}

// besides finds all pairs of rows that can be compared.
func besides(rows []Row) (out []Beside) {
	for i := range rows {
		peer := &rows[i]
		if peer.Peer == "" {
			continue
		}
		for j := range rows {
			own := &rows[j]
			if own.Peer != "" || own.workload() != peer.workload() || own.Threads != peer.Threads || own.Running != peer.Running ||
				own.Depth != peer.Depth || own.Freq != peer.Freq || len(own.Ratios) == 0 || len(peer.Ratios) == 0 {
				continue
			}
			f := Flatness{Few: peer, Most: own}
			f.compare()
			out = append(out, Beside{own, peer, f.Difference, f.Low, f.High})
			break
		}
	}
	return out
}

// verdict says who takes less of the target.
func (b *Beside) verdict() string {
	switch {
	case b.Low > 0:
		return "ahead"
	case b.High < 0:
		return "behind"
	}
	return "level"
}

// cpu is the processor time that a tool takes in all, as a share of one processor: while it samples and
// in the end.
func (r *Row) cpu() *float64 {
	if r.CPUSelf == nil || r.CPUAfter == nil {
		return nil
	}
	x := *r.CPUSelf + *r.CPUAfter
	return &x
}

// beside writes the table of comparisons, if there are any.
func beside(b *strings.Builder, rows []Row) {
	head := "\n| peer | threads | running | Hz | prywalk's ratio less the peer's | 95 % interval | prywalk is | samples/s: prywalk, peer | complete: prywalk, peer | CPU in all: prywalk, peer |\n|" +
		strings.Repeat(" --- |", 10) + "\n"
	for _, c := range besides(rows) {
		threads := fmt.Sprint(c.Own.Threads)
		if c.Own.Depth > 0 {
			threads += fmt.Sprintf(", depth %d", c.Own.Depth)
		}
		fmt.Fprintf(b, "%s| %s | %s | %d | %.0f | %+.4f | %+.4f to %+.4f | %s | %.0f, %.0f | %s, %s | %s, %s |\n", head, c.Peer.Peer, threads,
			c.Own.Running, c.Own.Freq, c.Difference, c.Low, c.High, c.verdict(), c.Own.SamplesPerS, c.Peer.SamplesPerS,
			known(c.Own.Complete, 100, "%.1f %%"), known(c.Peer.Complete, 100, "%.1f %%"),
			known(c.Own.cpu(), 100, "%.2f %%"), known(c.Peer.cpu(), 100, "%.2f %%"))
		head = ""
	}
}
