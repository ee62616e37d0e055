// SPDX-License-Identifier: Apache-2.0

package view

import "cmp"

// Place is a function's place in the source.
type Place struct {
	File string
	Line int
}

// Places returns each frame's source file and first line.
func (d *Data) Places() map[int32]Place {
	places := map[int32]Place{}
	for _, l := range d.Profile.Location {
		fs := d.byLoc[l]
		if len(fs) == 0 { // no sample, or memory was refused
			continue
		}
		i := 0
		for _, ln := range l.Line {
			if functionName(&ln) == "" {
				continue
			}
			if places[fs[i]].File == "" {
				places[fs[i]] = Place{ln.Function.Filename, int(cmp.Or(ln.Function.StartLine, ln.Line))}
			}
			i++
		}
	}
	return places
}
