// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

// hideInterpreter removes interpreter frames where there are others; not with --native.
func (sel *Selection) hideInterpreter() {
	if sel.Options.Native {
		return
	}
	hidden := map[*profile.Location]bool{}
	for _, l := range sel.Profile.Location {
		if onlyInterprets(l) {
			hidden[l] = true
		}
	}
	if len(hidden) == 0 {
		return
	}
	samples := make([]*profile.Sample, len(sel.Profile.Sample))
	folded := map[**profile.Location][]*profile.Location{} // samples share stacks (profile.Read)
	for i, s := range sel.Profile.Sample {
		samples[i] = s
		if len(s.Location) == 0 {
			continue
		}
		rest, ok := folded[&s.Location[0]]
		if !ok {
			rest = slices.DeleteFunc(slices.Clone(s.Location), func(l *profile.Location) bool { return hidden[l] })
			if len(rest) == 0 {
				rest = s.Location
			}
			folded[&s.Location[0]] = rest
		}
		if len(rest) < len(s.Location) {
			c := *s
			c.Location = rest
			samples[i] = &c
		}
	}
	sel.Profile.Sample = samples
}

func onlyInterprets(l *profile.Location) bool {
	return len(l.Line) > 0 && !slices.ContainsFunc(l.Line, func(ln profile.Line) bool {
		return ln.Function == nil || rec.FrameType(ln.Function.Name, ln.Function.SystemName) != rec.Machinery
	})
}
