// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	rec "prywalk/internal/profile"

	"github.com/google/pprof/profile"
)

// Group is one value of a grouping, with the sum of its samples' values.
type Group struct {
	Name     string
	Value    int64
	idleRank int // 1: idle by a rule, sorted last
	Samples  []*profile.Sample
}

// IsIdle reports that the group is a wait that is idle by a rule.
func (g *Group) IsIdle() bool { return g.idleRank > 0 }

// Groups divides the samples by one of [Groupings], largest group first, idle ones last.
func (d *Data) Groups(by string) []*Group {
	known := map[string]*Group{}
	var list []*Group
	for _, s := range d.Profile.Sample {
		name := d.groups.groupName(s, by)
		g := known[name]
		if g == nil {
			g = &Group{Name: name}
			if by == "wait" && d.groups.waiting.idleRule(s) != "" {
				g.idleRank = 1
			}
			known[name] = g
			list = append(list, g)
		}
		g.Value += s.Value[d.ValueIndex]
		g.Samples = append(g.Samples, s)
	}
	slices.SortFunc(list, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.idleRank, b.idleRank), cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// SortByTime sorts samples stably by their intervals' ends.
func SortByTime(samples []*profile.Sample) {
	slices.SortStableFunc(samples, func(a, b *profile.Sample) int {
		return cmp.Compare(NumLabel(a, rec.LabelEnd), NumLabel(b, rec.LabelEnd))
	})
}
