// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/dump/stacks"
)

const (
	maxCycle     = 16 // functions
	cycleEnds    = 10 // at least so many frames are shown at each end
	minHidden    = 50 // frames
	maxNamed     = 4  // functions
	maxNameWidth = 60
)

type repetition struct {
	from, to int
	period   int
}

// repeated returns the first part to hide at or after from: whole cycles, without about cycleEnds frames at each end.
func repeated(frames []stacks.Frame, from int) (r repetition, ok bool) {
	for at := from; at+2*cycleEnds+minHidden <= len(frames); {
		next := at + 1
		for period := 1; period <= maxCycle; period++ {
			end := at + period
			for end < len(frames) && isSameFunction(&frames[end], &frames[end-period]) {
				end++
			}
			hidden := end - at - 2*cycleEnds
			if hidden -= hidden % period; hidden >= minHidden && hidden >= 2*period {
				return repetition{at + cycleEnds, at + cycleEnds + hidden, period}, true
			}
			if period == 1 {
				next = end // no shorter cycle begins within equal frames
			}
		}
		at = max(at+1, min(next, at+cycleEnds))
	}
	return repetition{}, false
}

func isSameFunction(f *stacks.Frame, g *stacks.Frame) bool {
	if f.Place == g.Place {
		return f.Function != "" || f.PC == g.PC
	}
	return f.Function != "" && f.Function == g.Function && f.Module == g.Module && f.Inlined == g.Inlined &&
		f.Machinery == g.Machinery
}

func (r repetition) write(b *strings.Builder, frames []stacks.Frame) {
	var names []string
	for i := range frames[r.from : r.from+r.period] {
		name := cmp.Or(frames[r.from+i].Function, "??")
		names = append(names, tabular.Shorten(printable.String(name), maxNameWidth))
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed], fmt.Sprintf("… (%d functions)", r.period))
	}
	hidden := r.to - r.from
	printable.Fprintf(b, "       … %s: %s, %s times\n", count(hidden, "frame"),
		strings.Join(names, " ← "), tabular.Thousands(int64(hidden/r.period)))
}
