// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/base/tabular"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// Watch evaluates conditions. It implements [profile.Watcher] and [profile.StackHolder]; its fields are set before the
// first Add.
type Watch struct {
	Conditions []Condition
	// Pause is the least time between two reports of one condition.
	Pause time.Duration
	// Functions returns the names of a stack's functions. final: they will not change.
	Functions func(sample.StackID) (names []string, final bool)
	// Holds is called when a condition begins to hold, with what does, and the time (Unix epoch, ns).
	Holds func(c *Condition, what string, at int64)
	// Suspect is called with the processes of a possible deadlock, at least SuspectPause after the last call.
	Suspect func(pids []int, at int64)

	cpu, queued, last int64 // ns since the last Refresh, and its time
	states            []state
	suspects          string // as of the last call of Suspect
	suspectedAt       int64

	// Sleeps that a cut has divided go on: added since the last cut, and up to it.
	added, cut map[int]sleep
}

// sleep is the last long sleep of a thread; times are of the Unix epoch, ns.
type sleep struct {
	stack      sample.StackID
	begin, end int64
}

// state is that of a condition.
type state struct {
	held     bool
	reported int64
	matches  map[sample.StackID]bool // of stacks with final names
}

// SuspectPause is the least time between two calls of [Watch].Suspect.
const SuspectPause = 10 * time.Second

const (
	maxMatches = 1 << 16
	// minWanted is the share of one CPU that threads must at least want before their queue counts.
	minWanted = 0.1
	// minCarried is the least length of a sleep that goes on after a cut.
	minCarried = int64(time.Second / 2)
	// minSuspect is how long a thread has slept at least that may be in a deadlock.
	minSuspect = int64(time.Second)
)

// Add implements [profile.Sink].
func (w *Watch) Add(iv profile.Interval) {
	w.cpu += iv.CPU
	w.queued += iv.RunQueue
	if iv.Wall >= minCarried && isAsleep(&iv) && iv.TID != 0 {
		if w.added == nil {
			w.added = map[int]sleep{}
		}
		w.added[iv.TID] = sleep{iv.Stack, w.begin(&iv), iv.End}
	}
}

func isAsleep(iv *profile.Interval) bool {
	return iv.State == sample.Sleeping.String() || iv.State == sample.Disk.String()
}

// begin returns the begin of a sleep, before a cut if it has one.
func (w *Watch) begin(iv *profile.Interval) int64 {
	begin := iv.End - iv.Wall
	if before, ok := w.cut[iv.TID]; ok && before.end == begin && before.stack == iv.Stack {
		return before.begin
	}
	return begin
}

// NoteCut is called on Add's goroutine when all open intervals have been added, and begin again.
func (w *Watch) NoteCut() { w.cut, w.added = w.added, nil }

// HeldStacks implements [profile.StackHolder].
func (w *Watch) HeldStacks() (iter.Seq[sample.StackID], bool) {
	return func(func(sample.StackID) bool) {}, true
}

// Refresh implements [profile.Watcher].
func (w *Watch) Refresh(at int64, open iter.Seq[profile.Interval]) {
	if w.states == nil {
		w.states = make([]state, len(w.Conditions))
	}
	var asleep []*profile.Interval
	for iv := range open {
		if isAsleep(&iv) {
			iv.Wall = iv.End - w.begin(&iv)
			asleep = append(asleep, &iv)
		}
	}
	slices.SortStableFunc(asleep, func(a, b *profile.Interval) int { return cmp.Compare(b.Wall, a.Wall) })
	for i := range w.Conditions {
		c, s, what := &w.Conditions[i], &w.states[i], ""
		switch c.kind {
		case deadlock:
			w.suspect(asleep, at)
		case waiters:
			what = mostWaiters(asleep, int(c.limit))
		case blocked:
			what = w.longest(asleep, c, s)
		default:
			what = w.share(c, at-w.last)
		}
		switch {
		case what == "":
			s.held = false
		case !s.held && (s.reported == 0 || at-s.reported >= int64(w.Pause)):
			s.held, s.reported = true, at
			w.Holds(c, what, at)
		}
	}
	w.cpu, w.queued, w.last = 0, 0, at
}

// share describes a clock's share beyond the limit; "": it is within. elapsed is the time since the last Refresh, ns.
func (w *Watch) share(c *Condition, elapsed int64) string {
	part, whole, format := w.cpu, elapsed, "%.0f%% of one CPU"
	if c.kind == runQueue {
		part, whole = w.queued, w.cpu+w.queued
		format = "threads waited for a CPU for %.0f%% of the time in which they wanted one"
		if float64(whole) < minWanted*float64(elapsed) {
			return ""
		}
	}
	if w.last == 0 || elapsed <= 0 || float64(part) <= c.limit*float64(whole) {
		return ""
	}
	return fmt.Sprintf(format, 100*float64(part)/float64(whole))
}

type lock struct {
	pid   int
	label string
}

func mostWaiters(asleep []*profile.Interval, limit int) string {
	all := map[lock][]*profile.Interval{}
	for _, iv := range asleep {
		l := waits.ParseLabel(iv.WaitsFor)
		if as := (waits.Wait{Kind: l.Kind, Type: l.Type, Ownership: waits.Ownership{Owner: iv.Owner}}); as.IsLock() {
			k := lock{iv.PID, iv.WaitsFor}
			all[k] = append(all[k], iv)
		}
	}
	var most lock
	n := limit
	for l, list := range all {
		if len(list) > n || len(list) == n && n > limit && l.label < most.label {
			most, n = l, len(list)
		}
	}
	if n == limit {
		return ""
	}
	text := fmt.Sprintf("%d threads of process %d wait for %s", n, most.pid, most.label)
	if owner := all[most][0].Owner; owner > 0 {
		text += fmt.Sprintf(", held by thread %d", owner)
	}
	return text
}

// longest describes the longest wait under the condition's function; asleep begins with the longest.
func (w *Watch) longest(asleep []*profile.Interval, c *Condition, s *state) string {
	for _, iv := range asleep {
		// Names that are not known yet are looked up from half the time on.
		if float64(iv.Wall) <= c.limit/2 {
			break
		}
		if !w.matches(iv.Stack, c, s) || float64(iv.Wall) <= c.limit {
			continue
		}
		what := fmt.Sprintf("thread %d", iv.TID)
		if iv.Task != "" {
			what = iv.Task
		}
		return fmt.Sprintf("%s %s of process %d has waited for %s", what, iv.Thread, iv.PID, tabular.Nanos(iv.Wall))
	}
	return ""
}

func (w *Watch) matches(id sample.StackID, c *Condition, s *state) bool {
	if is, known := s.matches[id]; known {
		return is
	}
	names, final := w.Functions(id)
	is := slices.ContainsFunc(names, c.function.MatchString)
	if final {
		if s.matches == nil || len(s.matches) >= maxMatches {
			s.matches = map[sample.StackID]bool{}
		}
		s.matches[id] = is
	}
	return is
}

// suspect reports cycles of owners, and processes with two waiters for locks that store no owner, unless it has
// reported the same threads already.
func (w *Watch) suspect(asleep []*profile.Interval, at int64) {
	owned, owners, pids, unowned := map[int]*profile.Interval{}, map[int]int{}, map[int]bool{}, map[int]int{}
	var who []string
	for _, iv := range asleep {
		if iv.Wall < minSuspect {
			break
		}
		l := waits.ParseLabel(iv.WaitsFor)
		switch as := (waits.Wait{Kind: l.Kind, Type: l.Type}); {
		case iv.Owner > 0:
			owned[iv.TID], owners[iv.TID] = iv, iv.Owner
		case iv.Owner == 0 && l.Kind == waits.Semaphore && as.IsLock():
			if unowned[iv.PID]++; unowned[iv.PID] > 1 {
				pids[iv.PID] = true
			}
			who = append(who, fmt.Sprint(iv.TID, iv.WaitsFor))
		}
	}
	for _, cycle := range waits.Cycles(owners) {
		for _, tid := range cycle {
			pids[owned[tid].PID] = true
			who = append(who, fmt.Sprint(tid, owned[tid].WaitsFor))
		}
	}
	if len(pids) == 0 {
		w.suspects = ""
		return
	}
	slices.Sort(who)
	if text := strings.Join(who, "\n"); text != w.suspects &&
		(w.suspectedAt == 0 || at-w.suspectedAt >= int64(SuspectPause)) {
		w.suspects, w.suspectedAt = text, at
		w.Suspect(slices.Sorted(maps.Keys(pids)), at)
	}
}
