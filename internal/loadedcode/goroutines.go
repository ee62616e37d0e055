// SPDX-License-Identifier: Apache-2.0

package loadedcode

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

const maxReasons = 3

const otherAdvice = "to see them: net/http/pprof's /debug/pprof/goroutine?debug=2, dlv attach (stops the process), " +
	"or kill -QUIT (ends the process)"

// WaitingGoroutines is the number of waiting goroutines of a Go program; no thread runs them.
type WaitingGoroutines struct {
	// Count is the number of goroutines that wait.
	Count int `json:"count"`
	// ByReason counts them by what they wait for, in the words of Go's runtime.
	ByReason map[string]int `json:"by_reason,omitempty"`
	// Longest is the longest wait in seconds, by Go's own record: a wait begins at the start of the garbage
	// collection before the first that found it. 0: unknown (fewer than two collections, or a core).
	Longest float64 `json:"longest_s,omitempty"`
}

// GoroutinesShown says where the output shows the goroutines that the text counts.
type GoroutinesShown uint8

// Values of GoroutinesShown.
const (
	GoroutinesNotShown GoroutinesShown = iota
	GoroutinesInTable                  // now
	GoroutinesRecorded                 // until the end of the recording
)

// WaitingGoroutines counts waiting goroutines without a stop, with a text for users; nil if not Go, or unknown.
func (r *Runtimes) WaitingGoroutines(shown GoroutinesShown) (*WaitingGoroutines, string) {
	n, counted, whose, err := r.sumParked()
	unknown := ""
	if err != nil {
		unknown = fmt.Sprintf("goroutines %s are not shown; their number is not known: %v; %s", whose, err, otherAdvice)
	}
	if counted == 0 {
		return nil, unknown
	}
	w := &WaitingGoroutines{Count: n.Waiting, ByReason: n.Reasons}
	if since, now := int64(n.Since), procmem.Now(); r.pid != 0 && since > 0 && since < now {
		w.Longest = time.Duration(now - since).Seconds()
	}
	if n.Waiting == 0 || unknown != "" {
		return w, unknown
	}
	return w, w.text(shown, r.pid)
}

// text is for process pid; 0: a core's.
func (w *WaitingGoroutines) text(shown GoroutinesShown, pid int) string {
	count, are, wait := fmt.Sprintf("%d goroutines", w.Count), "are", "wait"
	if w.Count == 1 {
		count, are, wait = "1 goroutine", "is", "waits"
	}
	advice := "to see their stacks: prywalk dump --core"
	if pid != 0 {
		advice = fmt.Sprintf("to see their stacks: prywalk dump -p %d", pid)
	}
	switch shown {
	case GoroutinesInTable:
		return count + " " + wait + w.reasons() + "; " + advice
	case GoroutinesRecorded:
		return count + " waited at the end" + w.reasons() + "; what they waited for: prywalk report --by wait FILE"
	}
	return count + " that " + wait + " " + are + " not shown" + w.reasons() + "; " + advice
}

// sumParked sums all schedulers; counted is how many could be counted, err an error of another. whose are its
// goroutines: "that wait", or "of FILE" if there are several schedulers.
func (r *Runtimes) sumParked() (sum managed.Parked, counted int, whose string, err error) {
	all := r.Schedulers()
	sum.Reasons, whose = map[string]int{}, "that wait"
	for _, s := range all {
		n, failed := s.Parked()
		if failed != nil {
			if err = failed; len(all) > 1 && managed.FileOf(s) != "" {
				whose = "of " + managed.FileOf(s)
			}
			continue
		}
		counted++
		sum.Waiting += n.Waiting
		for why, count := range n.Reasons {
			sum.Reasons[why] += count
		}
		if n.Since != 0 && (sum.Since == 0 || n.Since < sum.Since) {
			sum.Since = n.Since
		}
	}
	return sum, counted, whose, err
}

func (w *WaitingGoroutines) reasons() string {
	names := slices.SortedFunc(maps.Keys(w.ByReason), func(a, b string) int {
		return cmp.Or(w.ByReason[b]-w.ByReason[a], strings.Compare(a, b))
	})
	var why []string
	for _, name := range names[:min(len(names), maxReasons)] {
		why = append(why, fmt.Sprintf("%d %s", w.ByReason[name], name))
	}
	text := ""
	if len(why) > 0 {
		text = " (" + strings.Join(why, ", ") + map[bool]string{true: ", …"}[len(names) > maxReasons] + ")"
	}
	if w.Longest >= 1 {
		text += fmt.Sprintf(", the longest for about %v", time.Duration(w.Longest)*time.Second)
	}
	return text
}
