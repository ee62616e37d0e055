// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

// AtOnce says how many threads and tasks of a group there were at a time.
type AtOnce struct {
	// Most were there at once, for at least one tick.
	Most int `json:"most"`
	// Bursts are the times with at least half of Most, and at least two, in order. Absent: there are over 1,000, they are
	// over a quarter of the time, or Most is less than three times the mean.
	Bursts []Burst `json:"bursts,omitempty"`
	// From is the selection's begin, in nanoseconds since the recording's start.
	From int64 `json:"from"`
	// To is its end.
	To int64 `json:"to"`
	// Means are of 30 equal parts of the selection.
	Means []float64 `json:"means"`
}

// Burst is a time with many at once. Gaps of up to ten ticks do not end it.
type Burst struct {
	// Begin is the time since the recording's start, in nanoseconds.
	Begin int64 `json:"begin"`
	// Length is in nanoseconds.
	Length int64 `json:"length"`
}

const (
	burstGap, maxBursts = 10, 1000
	// maxBurstShare is inverse.
	maxBurstShare = 4
	overTimeParts = 30
	edgeCost      = 32
)

type edge struct{ at, step int64 }

// AtOnce counts a group's samples at each time; nil if one has no time.
func (d *Data) AtOnce(samples []*profile.Sample) *AtOnce {
	clocks, ok := ClocksOf(d.Profile)
	length, taken := d.Profile.DurationNanos, edgeCost*int64(len(samples))
	if !ok || length <= 0 || !d.Memory.Take(taken) {
		return nil
	}
	defer d.Memory.Give(taken)
	edges := make([]edge, 0, 2*len(samples))
	for _, s := range samples {
		end := NumLabel(s, rec.LabelEnd)
		if end == 0 {
			return nil
		}
		end -= d.Profile.TimeNanos
		if begin, end := max(0, end-s.Value[clocks.Wall]), min(end, length); begin < end {
			edges = append(edges, edge{begin, 1}, edge{end, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })
	from := int64(d.Options.From)
	x := &AtOnce{From: from, To: from + length, Means: make([]float64, overTimeParts)}
	x.setLevels(edges, length, max(1, d.Profile.Period))
	return x
}

// eachLevel calls visit with each time between two edges.
func eachLevel(edges []edge, visit func(level int, from, to int64)) {
	level := int64(0)
	for i, e := range edges {
		if i > 0 && e.at > edges[i-1].at {
			visit(int(level), edges[i-1].at, e.at)
		}
		level += e.step
	}
}

func (x *AtOnce) setLevels(edges []edge, length, tick int64) {
	times, sum := map[int]int64{}, int64(0) // times by level
	part := float64(length) / overTimeParts
	eachLevel(edges, func(level int, from, to int64) {
		times[level] += to - from
		sum += int64(level) * (to - from)
		x.Most = max(x.Most, level)
		for i := int(float64(from) / part); i < overTimeParts && float64(i)*part < float64(to); i++ {
			in := min(float64(to), float64(i+1)*part) - max(float64(from), float64(i)*part)
			x.Means[i] += float64(level) * in / part
		}
	})
	for i, mean := range x.Means {
		x.Means[i] = math.Round(1000*mean) / 1000
	}
	for above := times[x.Most]; x.Most > 1 && above < tick; above += times[x.Most] {
		x.Most--
	}
	if 3*sum <= int64(x.Most)*length {
		x.setBursts(edges, length, tick)
	}
}

func (x *AtOnce) setBursts(edges []edge, length, tick int64) {
	all := int64(0)
	eachLevel(edges, func(level int, from, to int64) {
		if level < max(2, (x.Most+1)/2) {
			return
		}
		all += to - from
		if n := len(x.Bursts) - 1; n >= 0 && from+x.From-x.Bursts[n].Begin-x.Bursts[n].Length <= burstGap*tick {
			x.Bursts[n].Length = to + x.From - x.Bursts[n].Begin
		} else {
			x.Bursts = append(x.Bursts, Burst{from + x.From, to - from})
		}
	})
	x.Bursts = slices.DeleteFunc(x.Bursts, func(b Burst) bool { return b.Length < tick })
	if len(x.Bursts) == 0 || len(x.Bursts) > maxBursts || all*maxBurstShare > length {
		x.Bursts = nil
	}
}
