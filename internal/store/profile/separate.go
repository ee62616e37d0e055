// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"math"
	"slices"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/host/filememory"
)

// timedSample is a sample with a time stamp, of one thread or of none.
type timedSample struct {
	pid, tid int64   // tid 0 is time of no single thread, as of ended ones
	end      []int64 // its label
	wall     int64   // in nanoseconds
	at       int     // in the recording
}

const timedSampleCost = 56 // bytes

// separate moves intervals of a recording in time so that those of one thread do not overlap. Those of several files
// ([Join]) may. Recorded intervals overlap where time became known late: an interval that takes carried time reaches
// back beyond its neighbour's end, and left a gap where that time passed. Neighbours are moved back into the gap. Then
//
//	cpu + runqueue + blocked = wall
//
// holds in each window, as in the whole account. Lengths, values and the order of ends stay the same; an account
// without overlaps does not change. An interval without room after the recording's start, or after its thread's first
// interval if that is earlier, is moved forward: queue time that the kernel charges after it had counted as blocked,
// and parts cut off by a ring.
func separate(p *pprof.Profile, memory *filememory.Account) error {
	wall := slices.IndexFunc(p.SampleType, isWall)
	if wall < 0 {
		return nil
	}
	cost := timedSampleCost * int64(len(p.Sample))
	if err := memory.Take(cost, "contents"); err != nil {
		return err
	}
	defer memory.Give(cost)
	list := make([]timedSample, 0, len(p.Sample))
	for i, s := range p.Sample {
		pid, tid, end := s.NumLabel[LabelPID], s.NumLabel[LabelTID], s.NumLabel[LabelEnd]
		if len(pid) == 0 || len(end) == 0 || s.Value[wall] <= 0 || s.Value[wall] > end[0] {
			continue
		}
		switch {
		case len(tid) > 0:
			list = append(list, timedSample{pid[0], tid[0], end, s.Value[wall], i})
		case len(s.Label[LabelTask]) == 0:
			list = append(list, timedSample{pid[0], 0, end, s.Value[wall], i})
		}
	}
	slices.SortFunc(list, func(a, b timedSample) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.tid, b.tid), cmp.Compare(a.end[0], b.end[0]),
			cmp.Compare(a.at, b.at))
	})
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(s timedSample) bool { return s.pid != list[0].pid || s.tid != list[0].tid })
		if n < 0 {
			n = len(list)
		}
		if list[0].tid == 0 {
			spread(list[:n], p.TimeNanos)
		} else {
			separateThread(list[:n], p.TimeNanos)
		}
		list = list[n:]
	}
	return nil
}

// separateThread moves the intervals of a thread, sorted by their ends. What an account has beyond its thread's time,
// as of the time before the recording, overlaps at its beginning; with more than a tenth it stays as it is.
func separateThread(list []timedSample, start int64) {
	last, sum := list[len(list)-1].end[0], int64(0)
	for _, s := range list {
		start, sum = min(start, s.end[0]-s.wall), sum+s.wall
	}
	if sum-(last-start) > sum/10 {
		return
	}
	next, begin := int64(math.MaxInt64), min(start, last-sum)
	for _, s := range slices.Backward(list) {
		s.end[0] = min(s.end[0], next)
		next = s.end[0] - s.wall
	}
	for _, s := range list {
		s.end[0] = max(s.end[0], begin+s.wall)
		begin = s.end[0]
	}
	ended := int64(math.MinInt64)
	for _, s := range list { // what is left before the beginning, in the order of ends
		s.end[0] = max(s.end[0], start+s.wall, ended)
		ended = s.end[0]
	}
}

// spread moves a process's intervals of no single thread, sorted by their ends. Those of ended threads become known
// together, once a second, and all end then. They are laid one after the other into the time since those before, and
// side by side only where they do not fit.
func spread(list []timedSample, start int64) {
	for len(list) > 0 {
		end, n := list[0].end[0], len(list)
		if i := slices.IndexFunc(list, func(s timedSample) bool { return s.end[0] != end }); i > 0 {
			n = i
		}
		at := end
		for _, s := range list[:n] {
			if at-s.wall < start {
				at = end
			}
			s.end[0] = at
			at -= s.wall
		}
		list, start = list[n:], end
	}
}
