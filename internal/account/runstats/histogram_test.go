// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestClassesCoverAllValuesInOrder(t *testing.T) {
	for c := range 60 * subBuckets {
		if got := bucketIndex(bucketStart(c)); got != c {
			t.Fatalf("class(floor(%d)) = %d", c, got)
		}
		if c > 0 && bucketIndex(bucketStart(c)-1) != c-1 {
			t.Fatalf("class %d does not end before %d", c-1, bucketStart(c))
		}
	}
}

func TestQuantilesAreWithinASixteenth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h Histogram
	var all []int64
	for range 10000 {
		v := rng.Int64N(1 << (5 + rng.IntN(30)))
		h.Add(v)
		all = append(all, v)
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99} {
		want := all[int(q*10000)]
		if got := h.Quantile(q); float64(got) < float64(want)*15/16 || float64(got) > float64(want)*17/16+1 {
			t.Errorf("quantile %v = %d, want about %d", q, got, want)
		}
	}
	if h.Quantile(1) != all[len(all)-1] {
		t.Errorf("largest %d, want %d", h.Quantile(1), all[len(all)-1])
	}
}
