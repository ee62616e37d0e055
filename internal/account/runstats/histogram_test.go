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

func TestBucketsAreByPowersOfTwo(t *testing.T) {
	for _, c := range []struct {
		values []int64
		want   []Bucket
	}{
		{nil, nil},
		{[]int64{0, 15}, []Bucket{{16, 2}}},
		{[]int64{31, 16}, []Bucket{{32, 2}}},
		{[]int64{15, 16, 64, 127, 100}, []Bucket{{16, 1}, {32, 1}, {64, 0}, {128, 3}}},
		{[]int64{1 << 20}, []Bucket{{1 << 21, 1}}},
	} {
		var h Histogram
		for _, v := range c.values {
			h.Add(v)
		}
		if got := h.Buckets(); !slices.Equal(got, c.want) {
			t.Errorf("%d: %+v, want %+v", c.values, got, c.want)
		}
	}
}
