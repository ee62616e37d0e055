// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"math/bits"

	"prywalk/internal/runstats"
)

// histogram counts lengths of time in nanoseconds, in classes 1/16 apart, without
// allocation. The zero value is empty.
type histogram struct {
	classes [64 * subClasses]uint32
	n       int64
	max     int64
}

// subClasses divide each power of two.
const subClasses = 16

// class gives the class of a value.
func class(v int64) int {
	if v < subClasses {
		return int(max(v, 0))
	}
	top := bits.Len64(uint64(v)) - 1
	return (top-3)*subClasses + int(v>>(top-4))&(subClasses-1)
}

// floor gives the least value of a class.
func floor(c int) int64 {
	if c < subClasses {
		return int64(c)
	}
	top := c/subClasses + 3
	return 1<<top + int64(c%subClasses)<<(top-4)
}

func (h *histogram) add(v int64) {
	h.classes[class(v)]++
	h.n++
	h.max = max(h.max, v)
}

// quantile gives the value below which a share q of the lengths lie, to a
// sixteenth.
func (h *histogram) quantile(q float64) int64 {
	if h.n == 0 {
		return 0
	}
	left := int64(q * float64(h.n))
	for c, n := range h.classes {
		if left -= int64(n); left < 0 {
			return min(floor(c+1), h.max)
		}
	}
	return h.max
}

// buckets gives the lengths in classes by powers of two, without empty ones at either
// end.
func (h *histogram) buckets() []runstats.Bucket {
	var out []runstats.Bucket
	for c, n := range h.classes {
		below := runstats.Nanos(subClasses)
		if c >= subClasses {
			below = 2 << (c/subClasses + 3)
		}
		switch k := len(out) - 1; {
		case k >= 0 && out[k].Below == below:
			out[k].N += int64(n)
		case n > 0 || k >= 0:
			out = append(out, runstats.Bucket{Below: below, N: int64(n)})
		}
	}
	for len(out) > 0 && out[len(out)-1].N == 0 {
		out = out[:len(out)-1]
	}
	return out
}
