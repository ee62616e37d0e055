// SPDX-License-Identifier: Apache-2.0

package top

import (
	"math/rand/v2"
	"testing"

	"prywalk/internal/statistics"
)

// phases makes the first two shares swing.
func load(r *rand.Rand, slices, ticks int, shares []float64, phases float64) *Snapshot {
	snap := &Snapshot{}
	for range slices {
		swing := phases * r.NormFloat64()
		p := &sliceOf{}
		for range ticks {
			x := r.Float64()
			for i, share := range shares {
				switch i {
				case 0:
					share += swing
				case 1:
					share -= swing
				}
				if x -= share; x < 0 {
					p.add(int32(i))
					break
				}
			}
		}
		snap.sliceShares = append(snap.sliceShares, p.done())
	}
	return snap
}

type sliceOf struct{ s *shares }

func (b *sliceOf) add(f int32) {
	if b.s == nil {
		b.s = &shares{self: map[int32]int64{}, total: map[int32]int64{}}
	}
	b.s.sum += 1e7
	b.s.ticks++
	b.s.self[f] += 1e7
	b.s.total[f] += 1e7
}

func (b *sliceOf) done() *shares {
	if b.s == nil {
		b.s = &shares{}
	}
	return b.s
}

func rowsOf(n int) []FunctionRow {
	rows := make([]FunctionRow, n)
	for i := range rows {
		rows[i].id = int32(i)
	}
	return rows
}

func TestASteadyLoadHasMarksInAtMostOneRefreshOfTwenty(t *testing.T) {
	shares := []float64{0.3, 0.2, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.03, 0.02, 0.02, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01,
		0.01}
	for _, c := range []struct {
		what   string
		ticks  int
		phases float64
		slices int
	}{
		{"one thread", 99, 0, minSlices},
		{"many threads", 400, 0, minSlices},
		{"in phases", 99, 0.08, minSlices},
		{"in phases, many threads", 400, 0.1, minSlices},
		{"the first seconds", 99, 0, minBaseSlices + recentSlices},
		{"hardly anything runs", 5, 0, minSlices},
	} {
		r := rand.New(rand.NewPCG(16, 1))
		const tables = 600
		marked := 0
		for range tables {
			for _, m := range load(r, c.slices, c.ticks, shares, c.phases).Changes(rowsOf(len(shares)), false) {
				if m != unchanged {
					marked++
					break
				}
			}
		}
		t.Logf("%s: %.2f %% of %d tables have a mark", c.what, 100*float64(marked)/tables, tables)
		if float64(marked) > statistics.SignificanceLevel*tables {
			t.Errorf("%s: %d of %d tables have a mark", c.what, marked, tables)
		}
	}
}

func TestRealChangesAreMarked(t *testing.T) {
	before := []float64{0.3, 0.2, 0.5}
	after := []float64{0.6, 0.2, 0.2}
	r := rand.New(rand.NewPCG(16, 2))
	const tables = 500
	found := 0
	for range tables {
		snap := load(r, baseSlices, 99, before, 0)
		snap.sliceShares = append(snap.sliceShares, load(r, recentSlices, 99, after, 0).sliceShares...)
		m := snap.Changes(rowsOf(3), false)
		if m[0] == rising && m[2] == falling {
			found++
		}
	}
	if found < tables*99/100 {
		t.Errorf("%d of %d", found, tables)
	}
}

func TestThereAreNoMarksBeforeThereIsEnoughToCompare(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 3))
	snap := load(r, minBaseSlices-1, 99, []float64{1}, 0)
	snap.sliceShares = append(snap.sliceShares, load(r, recentSlices, 99, []float64{0, 1}, 0).sliceShares...)
	for _, m := range snap.Changes(rowsOf(2), false) {
		if m != unchanged {
			t.Error("a mark")
		}
	}
}
