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

const dumpAdvice = "to see their stacks: prywalk dump -p %d"

const coreDumpAdvice = "to see their stacks: prywalk dump --core"

const otherAdvice = "to see them: net/http/pprof's /debug/pprof/goroutine?debug=2, dlv attach (stops the process), " +
	"or kill -QUIT (ends the process)"

// WaitingGoroutines is the number of waiting goroutines of a Go program; no thread runs them.
type WaitingGoroutines struct {
	Count    int            `json:"count"`
	ByReason map[string]int `json:"by_reason,omitempty"` // in the words of Go's run-time system
	// Longest is the longest wait in seconds, by Go's own record: a wait begins at the start of the garbage
	// collection before the first that found it. 0: unknown (fewer than two collections, or a core).
	Longest float64 `json:"longest_s,omitempty"`
}

// WaitingGoroutines counts waiting goroutines without a stop, with a text for users; nil if not Go, or unknown.
func (r *Runtimes) WaitingGoroutines() (*WaitingGoroutines, string) {
	if r == nil || r.pid == 0 {
		return r.countGoroutines(0, coreDumpAdvice)
	}
	return r.countGoroutines(procmem.Now(), fmt.Sprintf(dumpAdvice, r.pid))
}

// GoroutinesAtEnd returns a line on the goroutines that wait at the end of a recording, or "".
func (r *Runtimes) GoroutinesAtEnd() string {
	w, text := r.WaitingGoroutines()
	if w == nil || w.Count == 0 {
		return text
	}
	return w.sentence("waited at the end", "waited at the end") + "; what they waited for: prywalk report --by wait FILE"
}

// GoroutinesNow is WaitingGoroutines of a live process, with a line for a table that has their time.
func (r *Runtimes) GoroutinesNow() (*WaitingGoroutines, string) {
	w, text := r.WaitingGoroutines()
	if w == nil || w.Count == 0 {
		return w, text
	}
	return w, w.sentence("waits", "wait") + "; to see their stacks: " + fmt.Sprintf("prywalk dump -p %d", r.pid)
}

// GoroutinesText returns the text of [Runtimes.WaitingGoroutines].
func (r *Runtimes) GoroutinesText() string {
	_, text := r.WaitingGoroutines()
	return text
}

// countGoroutines is for a moment (CLOCK_MONOTONIC ns; 0 in a core); remedy says how to see the stacks.
func (r *Runtimes) countGoroutines(now int64, remedy string) (*WaitingGoroutines, string) {
	n, counted, file, err := r.sumParked()
	unknown := ""
	if err != nil {
		unknown = fmt.Sprintf("goroutines that wait are not shown; their number is not known: %v; %s", err, otherAdvice)
		if file != "" {
			unknown = fmt.Sprintf("goroutines of %s are not shown; their number is not known: %v; %s",
				file, err, otherAdvice)
		}
	}
	if counted == 0 {
		return nil, unknown
	}
	w := &WaitingGoroutines{Count: n.Waiting, ByReason: n.Reasons}
	if since := int64(n.Since); since > 0 && since < now {
		w.Longest = time.Duration(now - since).Seconds()
	}
	if n.Waiting == 0 || unknown != "" {
		return w, unknown
	}
	return w, w.sentence("that waits is not shown", "that wait are not shown") + "; " + remedy
}

// sumParked sums all schedulers; counted is how many could be counted, err an error of another, file its file if there
// are several.
func (r *Runtimes) sumParked() (sum managed.Parked, counted int, file string, err error) {
	all := r.Schedulers()
	sum.Reasons = map[string]int{}
	for _, s := range all {
		n, failed := s.Parked()
		if failed != nil {
			if err = failed; len(all) > 1 {
				file = managed.FileOf(s)
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
	return sum, counted, file, err
}

func (w *WaitingGoroutines) sentence(one, many string) string {
	text := fmt.Sprintf("%d goroutines %s", w.Count, many)
	if w.Count == 1 {
		text = "1 goroutine " + one
	}
	return text + w.reasons()
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
