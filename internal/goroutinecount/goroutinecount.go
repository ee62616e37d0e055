// SPDX-License-Identifier: Apache-2.0

// Package goroutinecount counts the waiting goroutines of a process without a stop.
package goroutinecount

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"prywalk/internal/loadedcode"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

const maxReasons = 3

const (
	otherAdvice = "to see them: net/http/pprof's /debug/pprof/goroutine?debug=2, dlv attach (stops the process), " +
		"or kill -QUIT (ends the process)"
	coreAdvice = "to see them: dlv core PROGRAM FILE"
)

// WaitingGoroutines is the number of waiting goroutines of a Go program.
type WaitingGoroutines struct {
	// Count is the number of goroutines that wait.
	Count int `json:"count"`
	// ByReason counts them by what they wait for, in the words of Go's runtime.
	ByReason map[string]int `json:"by_reason,omitempty"`
	// Longest is the longest wait in seconds, by Go's own record: a wait begins at the start of the garbage
	// collection before the first that found it. 0: unknown (fewer than two collections, or a core).
	Longest float64 `json:"longest_s,omitempty"`
}

// Of counts the waiting goroutines of process pid (0: a core's), with a text for users; nil if the number is unknown
// or no program is of Go.
func Of(r *loadedcode.Runtimes, pid int) (*WaitingGoroutines, string) {
	n, counted, unread, err := r.SumParked()
	unknown := ""
	if err != nil {
		whose := "that wait"
		if file := managed.FileOf(unread); file != "" && len(r.Schedulers()) > 1 {
			whose = "of " + file
		}
		unknown = unknownText(whose, err, pid)
	}
	if counted == 0 {
		return nil, unknown
	}
	w := &WaitingGoroutines{Count: n.Waiting, ByReason: n.Reasons}
	if since, now := int64(n.Since), procmem.Now(); pid != 0 && since > 0 && since < now {
		w.Longest = time.Duration(now - since).Seconds()
	}
	if n.Waiting == 0 || unknown != "" {
		return w, unknown
	}
	return w, w.text(pid)
}

func unknownText(whose string, err error, pid int) string {
	advice := otherAdvice
	if pid == 0 {
		advice = coreAdvice
	}
	return fmt.Sprintf("goroutines %s are not shown; their number is not known: %v; %s", whose, err, advice)
}

// pid is 0 for a core.
func (w *WaitingGoroutines) text(pid int) string {
	count, are, wait := fmt.Sprintf("%d goroutines", w.Count), "are", "wait"
	if w.Count == 1 {
		count, are, wait = "1 goroutine", "is", "waits"
	}
	advice := "to see their stacks: prywalk dump --core FILE"
	if pid != 0 {
		advice = fmt.Sprintf("to see their stacks: prywalk dump -p %d", pid)
	}
	return count + " that " + wait + " " + are + " not shown" + w.reasons() + "; " + advice
}

func (w *WaitingGoroutines) reasons() string {
	names := slices.SortedFunc(maps.Keys(w.ByReason), func(a, b string) int {
		return cmp.Or(w.ByReason[b]-w.ByReason[a], strings.Compare(a, b))
	})
	var why []string
	for _, name := range names[:min(len(names), maxReasons)] {
		why = append(why, fmt.Sprintf("%d %s", w.ByReason[name], name))
	}
	if len(names) > maxReasons {
		why = append(why, "…")
	}
	text := ""
	if len(why) > 0 {
		text = " (" + strings.Join(why, ", ") + ")"
	}
	if w.Longest >= 1 {
		text += fmt.Sprintf(", the longest for about %v", time.Duration(w.Longest)*time.Second)
	}
	return text
}
