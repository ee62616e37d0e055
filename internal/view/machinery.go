// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
)

// foldMachinery takes the native frames that only run managed ones off the stacks, unless they are asked for. Who has
// nothing else keeps them.
func (d *Data) foldMachinery() {
	if d.Options.Native {
		return
	}
	machinery := map[*profile.Location]bool{}
	for _, l := range d.Profile.Location {
		if isMachinery(l) {
			machinery[l] = true
		}
	}
	if len(machinery) == 0 {
		return
	}
	samples := make([]*profile.Sample, len(d.Profile.Sample))
	folded := map[**profile.Location][]*profile.Location{} // samples share stacks: profile.Read made them so
	for i, s := range d.Profile.Sample {
		samples[i] = s
		if len(s.Location) == 0 {
			continue
		}
		rest, ok := folded[&s.Location[0]]
		if !ok {
			rest = without(s.Location, machinery)
			folded[&s.Location[0]] = rest
		}
		if len(rest) < len(s.Location) {
			c := *s
			c.Location = rest
			samples[i] = &c
		}
	}
	d.Profile.Sample = samples
}

// without gives a stack without some locations: itself if it has none of them, or nothing else.
func without(stack []*profile.Location, some map[*profile.Location]bool) []*profile.Location {
	rest := slices.DeleteFunc(slices.Clone(stack), func(l *profile.Location) bool { return some[l] })
	if len(rest) == 0 || len(rest) == len(stack) {
		return stack
	}
	return rest
}

// isMachinery reports whether the functions of a location only run managed frames, which are on the stack too.
func isMachinery(l *profile.Location) bool {
	return len(l.Line) > 0 && !slices.ContainsFunc(l.Line, func(ln profile.Line) bool {
		return ln.Function == nil || rec.FrameType(ln.Function.Name, ln.Function.SystemName) != rec.Machinery
	})
}
