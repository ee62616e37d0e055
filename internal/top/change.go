// SPDX-License-Identifier: Apache-2.0

package top

import (
	"math"

	"prywalk/internal/statistics"
)

const (
	recentSlices   = 3
	baseSlices     = 20
	minBaseSlices  = 8
	minMarkedShare = 0.01
)

// Change is the direction of a significant change of a share.
type Change int8

const (
	unchanged Change = 0
	rising    Change = 1
	falling   Change = -1
)

type shares struct {
	clock Clock
	names int64
	sum   int64
	ticks int64
	self  map[int32]int64
	total map[int32]int64
}

func (s *Store) shares(out []*shares, functions *FunctionTable, clock Clock) []*shares {
	for i := max(0, len(s.timeSlices)-minSlices); i < len(s.timeSlices); i++ {
		slice := &s.timeSlices[i]
		if slice.shares == nil || slice.shares.clock != clock || slice.shares.names != functions.changes {
			slice.shares = s.sharesOf(slice, functions, clock)
		}
		out = append(out, slice.shares)
	}
	return out
}

func (s *Store) sharesOf(slice *timeSlice, functions *FunctionTable, clock Clock) *shares {
	sh := &shares{clock: clock, names: functions.changes, self: map[int32]int64{}, total: map[int32]int64{}}
	seen := map[int32]int{}
	for i, d := range slice.deltas {
		v := d.v.Of(clock)
		if v <= 0 {
			continue
		}
		sh.sum += v
		sh.ticks += max(0, d.v.Samples)
		for depth, f := range functions.functionsOf(s.cells[d.cell].key.stack) {
			if depth == 0 {
				sh.self[f] += v
			}
			if seen[f] != i+1 {
				seen[f] = i + 1
				sh.total[f] += v
			}
		}
	}
	return sh
}

// Changes returns a mark for each row whose self or total share has changed significantly. It is Student's test of the
// means of the last recentSlices slices and the baseSlices before. The error is the slices' spread (programs have
// phases), or the counting error if larger. A share within the earlier slices' range is no change. The rows share the
// error rate (Bonferroni): a steady load has marks in at most one refresh of twenty. Rows below minMarkedShare are not
// tested.
func (snap *Snapshot) Changes(rows []FunctionRow, total bool) []Change {
	out := make([]Change, len(rows))
	k := len(snap.sliceShares) - recentSlices
	if k < minBaseSlices {
		return out
	}
	tests := 0
	histories := make([][]float64, len(rows))
	for i := range rows {
		histories[i] = snap.history(rows[i].id, total)
		if mean(histories[i]) >= minMarkedShare || mean(histories[i][k:]) >= minMarkedShare {
			tests++
		} else {
			histories[i] = nil
		}
	}
	if tests == 0 {
		return out
	}
	var counts []int64
	for _, p := range snap.sliceShares {
		counts = append(counts, p.ticks)
	}
	bound := statistics.StudentBound(statistics.SignificanceLevel/float64(tests), len(snap.sliceShares)-2)
	for i, h := range histories {
		if h != nil {
			out[i] = detectChange(h, counts, k, bound)
		}
	}
	return out
}

func (snap *Snapshot) history(id int32, total bool) []float64 {
	h := make([]float64, len(snap.sliceShares))
	for i, p := range snap.sliceShares {
		v := p.self[id]
		if total {
			v = p.total[id]
		}
		if p.sum > 0 {
			h[i] = float64(v) / float64(p.sum)
		}
	}
	return h
}

// detectChange compares the slices from k on with those before: a difference beyond bound standard errors is a change.
// counts are the slices' ticks.
func detectChange(h []float64, counts []int64, k int, bound float64) Change {
	base, recent := h[:k], h[k:]
	a, b := mean(base), mean(recent)
	low, high := bounds(base)
	if b >= low && b <= high {
		return unchanged
	}
	dof := float64(len(h) - 2)
	spread := (sumOfSquares(base, a) + sumOfSquares(recent, b)) / dof
	pooled := mean(h)
	least := 0.0
	for _, n := range counts {
		least += max(pooled*(1-pooled), 0.25/float64(max(n, 1))) / float64(max(n, 1)) / float64(len(counts))
	}
	err := math.Sqrt(max(spread, least) * (1/float64(len(base)) + 1/float64(len(recent))))
	switch t := (b - a) / err; {
	case t > bound:
		return rising
	case t < -bound:
		return falling
	}
	return unchanged
}

func mean(h []float64) (m float64) {
	for _, x := range h {
		m += x / float64(len(h))
	}
	return m
}

func sumOfSquares(h []float64, mean float64) (s float64) {
	for _, x := range h {
		s += (x - mean) * (x - mean)
	}
	return s
}

func bounds(h []float64) (low, high float64) {
	low, high = h[0], h[0]
	for _, x := range h {
		low, high = min(low, x), max(high, x)
	}
	return low, high
}
