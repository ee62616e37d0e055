// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	"prywalk/internal/store/profile"
)

// State is the sampling's state.
type State struct {
	Target  string // such as "redis-server (pid 4711)"
	Threads int
	// Complete is the share of complete stacks; negative if it is unknown.
	Complete float64
	// Trouble is the reason why threads cannot be observed, or "".
	Trouble string
	// Ended means that the sampling is over.
	Ended bool
}

func (snap *Snapshot) window() string {
	all := clockTime(snap.Since)
	if snap.Whole {
		return "all of " + all
	}
	return fmt.Sprintf("last %s of %s", tabular.TrimFloat(snap.Length.Round(time.Second/10).Seconds())+" s", all)
}

func clockTime(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// headLines begins with the conclusion.
func (snap *Snapshot) headLines(s Screen, st *State) (lines []string) {
	v := snap.total()
	first := []string{printable.String(st.Target), snap.window()}
	if st.Threads > 0 && !st.Ended {
		first = append(first, tabular.Plural(int64(st.Threads), "thread"))
	}
	if c, ok := snap.data.Completeness(profile.TypeCPU); ok {
		first = append(first, "cpu: "+c.Text("", view.Percent))
	}
	second := []string{"cpu " + tabular.Nanos(v.CPU)}
	if snap.Length > 0 {
		second[0] += fmt.Sprintf(" (%.2f CPUs)", float64(v.CPU)/float64(snap.Length))
	}
	second = append(second, "runqueue "+tabular.Nanos(v.RunQueue), "blocked "+tabular.Nanos(v.Blocked))
	if snap.PendingNames > 0 {
		second = append(second, fmt.Sprintf("looking up %d symbols", snap.PendingNames))
	}
	lines = []string{s.joined(" · ", first...), s.joined(" · ", second...)}
	if line := snap.data.Conclusion(); line != "" {
		lines = slices.Insert(lines, 0, s.joined("; ", strings.Split(line, "; ")...))
	}
	return lines
}
