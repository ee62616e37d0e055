// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBucketsFollowEachOther(t *testing.T) {
	for b := range buckets - 1 {
		if low, next := lowest(b), lowest(b+1); bucketOf(low) != b || bucketOf(next-1) != b || low >= next {
			t.Fatalf("bucket %d from %d to %d: %d, %d", b, low, next, bucketOf(low), bucketOf(next-1))
		}
	}
	if bucketOf(math.MaxUint64) != buckets-1 || lowest(buckets-1) < 130e9 {
		t.Error("the last bucket does not take the rest")
	}
}

func TestQuantilesAreThoseOfTheLengths(t *testing.T) {
	var s sharedHistogram
	rng := rand.New(rand.NewPCG(1, 2))
	var all []float64
	for range 20000 {
		ns := math.Exp(8 + 2*rng.NormFloat64())
		all = append(all, ns)
		s.add(int64(ns))
	}
	slices.Sort(all)
	var h, sum, back Histogram
	s.drain(&h)
	text, err := json.Marshal(&h)
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	sum.Add(&back)
	s.drain(&sum)
	if sum.N() != 20000 {
		t.Errorf("%d of 20000", sum.N())
	}
	for _, q := range []float64{0.5, 0.99, 0.999} {
		want := all[int(q*20000)-1]
		if got := sum.Quantile(q); math.Abs(got/want-1) > 0.05 {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	if (&Histogram{}).Quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
}
