// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"prywalk/internal/base/sample"
)

// ring bounds a journal by time, and by memory.
type ring struct {
	length int64 // ns; 0: unbounded
	lost   int64 // what ended before is lost for lack of memory, Unix epoch ns; 0: nothing
}

// maxRingChunks is 64 MB.
const maxRingChunks = 1 << 10

// dropOld drops the oldest chunks of a ring, and the label sets that only these need.
func (j *journal) dropOld() {
	if j.ring.length == 0 || len(j.chunks) == 0 {
		return
	}
	newest := j.chunks[len(j.chunks)-1].newest
	n := 0
	for n < len(j.chunks) && j.chunks[n].newest < newest-j.ring.length {
		n++
	}
	for ; n < len(j.chunks)-maxRingChunks; n++ {
		j.ring.lost = max(j.ring.lost, j.chunks[n].newest)
	}
	if n == 0 {
		return
	}
	needed := len(j.generations.all) - 1
	if n < len(j.chunks) {
		needed = j.chunks[n].generation
	}
	clear(j.generations.all[:needed])
	j.chunks = slices.Delete(j.chunks, 0, n)
}

// clip leaves the part of an interval after from; false: it ended before.
func (r *record) clip(from int64) bool {
	if r.end <= from {
		return false
	}
	if part := r.end - from; part < r.wall {
		for _, v := range []*int64{&r.samples, &r.runqueue, &r.cpu} {
			*v = sample.Portion(*v, part, r.wall)
		}
		r.wall = part
	}
	return true
}
