// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/waits"
)

func (l *Locks) writePlaces(b *strings.Builder, tids []int) {
	var places []string
	for _, tid := range tids {
		if t, _ := l.thread(tid); t != nil {
			places = append(places, t.ownPlace())
		}
	}
	noun := "thread"
	if len(tids) == 1 {
		noun = ""
	}
	writeFrequent(b, places, noun)
}

const maxPlaces = 5

// writeFrequent begins with the most frequent; "" is none. noun names what is counted, "": no count.
func writeFrequent(b *strings.Builder, all []string, noun string) {
	times := map[string]int{}
	var places []string
	for _, place := range all {
		if times[place]++; times[place] == 1 && place != "" {
			places = append(places, place)
		}
	}
	slices.SortStableFunc(places, func(a, b string) int { return times[b] - times[a] })
	for _, place := range places[:min(len(places), maxPlaces)] {
		counted := ""
		if noun != "" {
			counted = " (" + count(times[place], noun) + ")"
		}
		printable.Fprintf(b, "      in %s%s\n", place, counted)
	}
	if n := len(places) - maxPlaces; n > 0 {
		printable.Fprintf(b, "      and at %s\n", count(n, "more place"))
	}
}

// ownPlace returns the program's function in which a thread waits, with line.
func (t *Thread) ownPlace() string {
	if f := innermostOwn(t); f != nil {
		return f.location()
	}
	return ""
}

func innermostOwn(t *Thread) *Frame {
	if i := waits.ApplicationFunction(t.frame); i >= 0 {
		return &t.Frames[i]
	}
	return ownManaged(t)
}

func (f *Frame) location() string {
	text := f.Function
	if f.File != "" {
		text += " at " + printable.SourceFile(f.File)
		if f.Line > 0 {
			text += ":" + strconv.Itoa(f.Line)
		}
	}
	return text
}

// ownManaged returns the innermost managed function of a wait in its run-time system, or nil.
func ownManaged(t *Thread) *Frame {
	if t.WaitsFor == nil || !t.WaitsFor.IsManaged() {
		return nil
	}
	for i := range t.Frames {
		if f := &t.Frames[i]; f.Kind != "" && f.Type != "native" && f.Type != "stub" && f.Function != freedFunction {
			return f
		}
	}
	return nil
}

func (g *Goroutine) ownPlace() string {
	return g.stack().ownPlace()
}
