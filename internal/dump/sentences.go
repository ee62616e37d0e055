// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"slices"
	"strings"
)

// Sentences gives one sentence per deadlock, proven ones first.
func (l *Locks) Sentences() (out []string) {
	for _, c := range l.Deadlocks {
		out = append(out, "DEADLOCK: "+l.sentence(c))
	}
	for _, c := range l.Possible {
		out = append(out, "POSSIBLE DEADLOCK: "+l.sentence(c))
	}
	return out
}

func (l *Locks) sentence(cycle []int) string {
	var parts []string
	for i, tid := range cycle {
		t, _ := l.find(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		next := cycle[(i+1)%len(cycle)]
		held := "held"
		if t.WaitsFor.Owner != next {
			held = "likely held"
		}
		thing := t.WaitsFor.Thing()
		if at := t.place(); at != "" {
			thing += " (in " + at + ")"
		}
		parts = append(parts, fmt.Sprintf("%s waits for %s, %s by %s", l.name(tid), thing, held, l.name(next)))
	}
	return strings.Join(slices.Clip(parts), "; ")
}
