// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"math"
	"slices"

	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"

	"github.com/google/pprof/profile"
)

// Group is one value of a grouping, with the sum of its samples' values.
type Group struct {
	Name    string
	Value   int64
	idle    waits.Idleness
	Samples []*profile.Sample
	// Slight groups of waits are below 1/1000 of all.
	Slight bool
}

// IsIdle reports that the group is a wait that is idle by a rule.
func (g *Group) IsIdle() bool { return g.idle.Idle != "" }

// Groups divides the samples by one of [Groupings], largest group first, idle ones last, after guessed ones.
func (d *Data) Groups(by string) []*Group {
	known := map[string]*Group{}
	var list []*Group
	add := func(s *profile.Sample, name string) {
		g := known[name]
		if g == nil {
			g = &Group{Name: name}
			if by == "wait" {
				g.idle = d.groups.waiting.idleness(s)
			}
			known[name] = g
			list = append(list, g)
		}
		g.Value += s.Value[d.ValueIndex]
		g.Samples = append(g.Samples, s)
	}
	for _, s := range d.Profile.Sample {
		if by == "wait" {
			s = d.withoutQueue(s, add)
		}
		add(s, d.groups.groupName(s, by))
	}
	if by == "wait" {
		total := float64(d.Total(d.ValueIndex))
		for _, g := range list {
			g.Slight = 1000*float64(g.Value) < total
		}
	}
	rank := func(g *Group) int { // slight waits are the last
		if g.Slight {
			return math.MaxInt
		}
		return g.idle.Rank()
	}
	slices.SortFunc(list, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Idleness returns that of all samples; zero if some differ.
func (d *Data) Idleness(samples []*profile.Sample) (idle waits.Idleness) {
	for n, s := range samples {
		of := d.groups.waiting.idleness(s)
		if n > 0 && of != idle {
			return waits.Idleness{}
		}
		idle = of
	}
	return idle
}

// WaitsForCPU is the group of the time in which threads were ready and had no CPU.
const WaitsForCPU = "[waiting for a CPU]"

// withoutQueue adds the run queue time of a sample that does not wait to [WaitsForCPU], and returns the rest.
func (d *Data) withoutQueue(s *profile.Sample, add func(s *profile.Sample, group string)) *profile.Sample {
	clocks, ok := ClocksOf(d.Profile)
	if !ok || Label(s, rec.LabelWait) != "" || s.Value[clocks.RunQueue] <= 0 || !d.Memory.Take(2*sampleCost) {
		return s
	}
	queued, rest := *s, *s
	queued.Value, rest.Value = make([]int64, len(s.Value)), slices.Clone(s.Value)
	for _, clock := range []int{clocks.RunQueue, clocks.Wall} {
		queued.Value[clock] = s.Value[clocks.RunQueue]
		rest.Value[clock] -= s.Value[clocks.RunQueue]
	}
	add(&queued, WaitsForCPU)
	return &rest
}

// SortByTime sorts samples stably by their intervals' ends.
func SortByTime(samples []*profile.Sample) {
	slices.SortStableFunc(samples, func(a, b *profile.Sample) int {
		return cmp.Compare(NumLabel(a, rec.LabelEnd), NumLabel(b, rec.LabelEnd))
	})
}
