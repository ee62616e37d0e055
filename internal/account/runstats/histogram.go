// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"math/bits"
)

// Histogram counts values in classes 1/16 apart. It does not allocate. The zero value is empty.
type Histogram struct {
	counts [64 * subBuckets]uint32
	N      int64
	Max    int64
}

const subBuckets = 16 // per power of two

func bucketIndex(v int64) int {
	if v < subBuckets {
		return int(max(v, 0))
	}
	top := bits.Len64(uint64(v)) - 1
	return (top-3)*subBuckets + int(v>>(top-4))&(subBuckets-1)
}

func bucketStart(c int) int64 {
	if c < subBuckets {
		return int64(c)
	}
	top := c/subBuckets + 3
	return 1<<top + int64(c%subBuckets)<<(top-4)
}

// Add counts a value.
func (h *Histogram) Add(v int64) {
	h.counts[bucketIndex(v)]++
	h.N++
	h.Max = max(h.Max, v)
}

// Quantile is at most a sixteenth, or 1, too high; 0 without values.
func (h *Histogram) Quantile(q float64) int64 {
	if h.N == 0 {
		return 0
	}
	left := int64(q * float64(h.N))
	for c, n := range h.counts {
		if left -= int64(n); left < 0 {
			return min(bucketStart(c+1), h.Max)
		}
	}
	return h.Max
}

// Buckets are by powers of two, without empty ones at the ends.
func (h *Histogram) Buckets() []Bucket {
	var out []Bucket
	for c, n := range h.counts {
		below := Nanos(subBuckets)
		if c >= subBuckets {
			below = 2 << (c/subBuckets + 3)
		}
		switch k := len(out) - 1; {
		case k >= 0 && out[k].Below == below:
			out[k].N += int64(n)
		case n > 0 || k >= 0:
			out = append(out, Bucket{Below: below, N: int64(n)})
		}
	}
	for len(out) > 0 && out[len(out)-1].N == 0 {
		out = out[:len(out)-1]
	}
	return out
}
