// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"sync/atomic"
)

// Buckets are exact below 64 ns, then 32 per doubling: ends at most 3.2 % apart (as HdrHistogram); the last is open
// from 137 s.
const (
	subBits = 5
	buckets = (38 - subBits) << subBits
)

func bucketOf(ns uint64) int {
	shift := max(0, bits.Len64(ns)-subBits-1)
	return min(shift<<subBits+int(ns>>shift), buckets-1)
}

func lowest(b int) uint64 {
	if b < 2<<subBits {
		return uint64(b)
	}
	shift := b>>subBits - 1
	return uint64(b-shift<<subBits) << shift
}

// Histogram counts lengths of time.
type Histogram struct {
	counts [buckets]uint64
	n      uint64
}

// Add adds another's counts.
func (h *Histogram) Add(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.n += o.n
}

// N is the number of lengths.
func (h *Histogram) N() uint64 { return h.n }

// Quantile returns the q-quantile (0 to 1), ns: its bucket's middle; 0 if empty.
func (h *Histogram) Quantile(q float64) float64 {
	rank, sum := q*float64(h.n), uint64(0)
	for b, n := range h.counts {
		if sum += n; n > 0 && float64(sum) >= rank {
			return float64(lowest(b)+lowest(b+1)) / 2
		}
	}
	return 0
}

// MarshalJSON writes pairs of bucket and nonzero count.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	pairs := [][2]uint64{}
	for b, n := range h.counts {
		if n > 0 {
			pairs = append(pairs, [2]uint64{uint64(b), n})
		}
	}
	return json.Marshal(pairs)
}

// UnmarshalJSON reads the output of MarshalJSON.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var pairs [][2]uint64
	if err := json.Unmarshal(text, &pairs); err != nil {
		return err
	}
	*h = Histogram{}
	for _, p := range pairs {
		if p[0] >= buckets {
			return fmt.Errorf("there is no bucket %d", p[0])
		}
		h.counts[p[0]] += p[1]
		h.n += p[1]
	}
	return nil
}

type sharedHistogram struct{ counts [buckets]atomic.Uint64 }

func (s *sharedHistogram) add(ns int64) { s.counts[bucketOf(uint64(max(ns, 0)))].Add(1) }

func (s *sharedHistogram) drain(h *Histogram) {
	for b := range s.counts {
		if s.counts[b].Load() > 0 {
			n := s.counts[b].Swap(0)
			h.counts[b] += n
			h.n += n
		}
	}
}
