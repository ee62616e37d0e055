// SPDX-License-Identifier: Apache-2.0

package code

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// mostReasons is how many reasons to wait are shown.
const mostReasons = 3

// howToSeeGoroutines says what shows the stacks of goroutines that wait.
const howToSeeGoroutines = "to see their stacks: net/http/pprof's /debug/pprof/goroutine?debug=2, " +
	"dlv attach (stops the process), or kill -QUIT (ends the process)"

// howToSeeThemInACore says the same of a core.
const howToSeeThemInACore = "to see their stacks: dlv core"

// WaitingGoroutines counts the goroutines of a Go program that wait: no thread has their stacks.
type WaitingGoroutines struct {
	Count    int            `json:"count"`
	ByReason map[string]int `json:"by_reason,omitempty"` // in the words of Go's run-time system
	// Longest is for how many seconds one has waited, as Go's run-time system has it: it dates a wait by the start of the
	// garbage collection before the first that found it. 0: not known (fewer than two collections, or a core).
	Longest float64 `json:"longest_s,omitempty"`
}

// WaitingGoroutines counts the goroutines that wait, without stopping a thread. It gives them, nil if the process is
// not of Go, or if their number is not known; and a line for people, empty if there is nothing to say.
func (p *Process) WaitingGoroutines() (*WaitingGoroutines, string) {
	return p.runtimes.WaitingGoroutines(procmem.Now(), howToSeeGoroutines)
}

// ParkedText gives the line for people.
func (p *Process) ParkedText() string {
	_, text := p.WaitingGoroutines()
	return text
}

// WaitingInACore counts the goroutines of a core.
func (r *Runtimes) WaitingInACore() (*WaitingGoroutines, string) {
	return r.WaitingGoroutines(0, howToSeeThemInACore)
}

// WaitingGoroutines counts goroutines. now is CLOCK_MONOTONIC in nanoseconds, 0 if not known; remedy is what shows
// their stacks.
func (r *Runtimes) WaitingGoroutines(now int64, remedy string) (*WaitingGoroutines, string) {
	n, ok, err := r.parked()
	switch {
	case !ok:
		return nil, ""
	case err != nil:
		return nil, fmt.Sprintf("goroutines that wait are not shown; their number is not known: %v; %s", err, remedy)
	}
	w := &WaitingGoroutines{Count: n.Waiting, ByReason: n.Reasons}
	if since := int64(n.Since); since > 0 && since < now {
		w.Longest = time.Duration(now - since).Seconds()
	}
	if n.Waiting == 0 {
		return w, ""
	}
	return w, w.text() + "; " + remedy
}

// parked asks the run-time system that knows of tasks without a thread; ok is false if there is none.
func (r *Runtimes) parked() (n managed.Parked, ok bool, err error) {
	if r == nil {
		return n, false, nil
	}
	for i := range r.found.slots {
		if s, is := r.found.slots[i].system.(managed.Parker); is {
			n, err = s.Parked()
			return n, true, err
		}
	}
	return n, false, nil
}

// text says how many wait, for what and how long.
func (w *WaitingGoroutines) text() string {
	names := slices.SortedFunc(maps.Keys(w.ByReason), func(a, b string) int {
		return cmp.Or(w.ByReason[b]-w.ByReason[a], strings.Compare(a, b))
	})
	var why []string
	for _, name := range names[:min(len(names), mostReasons)] {
		why = append(why, fmt.Sprintf("%d %s", w.ByReason[name], name))
	}
	text := ""
	if len(why) > 0 {
		text = " (" + strings.Join(why, ", ") + map[bool]string{true: ", …"}[len(names) > mostReasons] + ")"
	}
	if w.Longest >= 1 {
		text += fmt.Sprintf(", the longest for about %v", time.Duration(w.Longest)*time.Second)
	}
	what := fmt.Sprintf("%d goroutines that wait are", w.Count)
	if w.Count == 1 {
		what = "1 goroutine that waits is"
	}
	return what + " not shown" + text
}
