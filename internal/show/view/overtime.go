// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

// AtOnce says how many threads and tasks of a group there were at a time.
type AtOnce struct {
	// Most were there for at least one tick.
	Most int
	// Bursts are the times with at least half of Most, and at least two, in order; nil: they are over a quarter of the
	// selection, or Most is less than twice the mean.
	Bursts []Burst
	// Means are of equal parts of the selection.
	Means []float64
	// From and To are of the selection, in ns since the recording's start.
	From, To int64
}

// Burst is a time without a gap of more than [burstGap] ticks, in ns since the recording's start.
type Burst struct{ Begin, Length int64 }

const (
	burstGap = 10
	// Bursts over burstShare of the time are none.
	burstShare = 0.25
	edgeCost   = 32
)

type edge struct {
	at   int64
	step int
}

// AtOnce counts a group's samples at each time; false if one has no time.
func (d *Data) AtOnce(samples []*profile.Sample, parts int) (x AtOnce, ok bool) {
	wall, ok := d.TypeIndex(rec.TypeWall)
	length := d.Profile.DurationNanos
	if !ok || d.Profile.TimeNanos == 0 || length <= 0 || parts < 1 {
		return x, false
	}
	taken := edgeCost * int64(len(samples))
	if !d.Memory.Take(taken) {
		return x, false
	}
	defer d.Memory.Give(taken)
	edges := make([]edge, 0, 2*len(samples))
	for _, s := range samples {
		end := NumLabel(s, rec.LabelEnd) - d.Profile.TimeNanos
		if end == -d.Profile.TimeNanos {
			return x, false
		}
		begin := max(0, end-s.Value[wall])
		if end = min(end, length); begin < end {
			edges = append(edges, edge{begin, 1}, edge{end, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), a.step-b.step) })
	x = AtOnce{From: int64(d.Options.From), To: int64(d.Options.From) + length, Means: make([]float64, parts)}
	x.setLevels(edges, length, max(1, d.Profile.Period))
	return x, true
}

// eachLevel calls visit with each time between two edges.
func eachLevel(edges []edge, visit func(level int, from, to int64)) {
	level := 0
	for i, e := range edges {
		if i > 0 && e.at > edges[i-1].at {
			visit(level, edges[i-1].at, e.at)
		}
		level += e.step
	}
}

func (x *AtOnce) setLevels(edges []edge, length, tick int64) {
	times, sum := map[int]int64{}, int64(0) // times by level
	eachLevel(edges, func(level int, from, to int64) {
		times[level] += to - from
		sum += int64(level) * (to - from)
		x.Most = max(x.Most, level)
		x.addMeans(level, from, to, length)
	})
	for above := times[x.Most]; x.Most > 1 && above < tick; above += times[x.Most] {
		x.Most--
	}
	if 2*sum <= int64(x.Most)*length {
		x.setBursts(edges, length, tick)
	}
}

func (x *AtOnce) addMeans(level int, from, to, length int64) {
	part := max(1, float64(length)/float64(len(x.Means)))
	last := min(int(float64(to)/part), len(x.Means)-1)
	for i := int(float64(from) / part); i <= last; i++ {
		in := min(float64(to), float64(i+1)*part) - max(float64(from), float64(i)*part)
		x.Means[i] += float64(level) * max(0, in) / part
	}
}

func (x *AtOnce) setBursts(edges []edge, length, tick int64) {
	least, all := max(2, (x.Most+1)/2), int64(0)
	var list []Burst
	eachLevel(edges, func(level int, from, to int64) {
		if level < least {
			return
		}
		all += to - from
		begin := from + x.From
		if n := len(list); n > 0 && begin-list[n-1].Begin-list[n-1].Length <= burstGap*tick {
			list[n-1].Length = to + x.From - list[n-1].Begin
			return
		}
		list = append(list, Burst{begin, to - from})
	})
	list = slices.DeleteFunc(list, func(b Burst) bool { return b.Length < tick })
	if len(list) > 0 && float64(all) <= burstShare*float64(length) {
		x.Bursts = list
	}
}
