// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
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
}

// IsIdle reports that the group is a wait that is idle by a rule.
func (g *Group) IsIdle() bool { return g.idle.Idle != "" }

// Groups divides the samples by one of [Groupings], largest group first, idle ones last, after guessed ones.
func (d *Data) Groups(by string) []*Group {
	known := map[string]*Group{}
	var list []*Group
	for _, s := range d.Profile.Sample {
		name := d.groups.groupName(s, by)
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
	slices.SortFunc(list, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.idle.Rank(), b.idle.Rank()), cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// SortByTime sorts samples stably by their intervals' ends.
func SortByTime(samples []*profile.Sample) {
	slices.SortStableFunc(samples, func(a, b *profile.Sample) int {
		return cmp.Compare(NumLabel(a, rec.LabelEnd), NumLabel(b, rec.LabelEnd))
	})
}
