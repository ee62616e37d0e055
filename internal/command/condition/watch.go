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

	"prywalk/internal/base/cache"
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
	// Functions returns a stack's functions, the innermost first. final means that they will not change.
	Functions func(sample.StackID) (functions []waits.Frame, final bool)
	// Holds is called when a condition begins to hold, with what does, and the time (in nanoseconds of Unix time).
	Holds func(c *Condition, what string, at int64)
	// Suspect is called with the processes of a possible deadlock, at least suspectPause after the last call.
	Suspect func(pids []int, at int64)

	cpu, queued, last int64 // in nanoseconds: clocks since the last Refresh, and its time
	states            []state
	suspects          string // as of the last call of Suspect
	suspectedAt       int64

	first map[int]int64 // begins of the first intervals of threads: one that rests since a later time has run
}

// state is that of a condition.
type state struct {
	held     bool
	reported int64
	matches  map[place]bool // of stacks with final names
}

// place is where a thread waits; wait and kind are set for idle rules only.
type place struct {
	stack sample.StackID
	wait  string
	kind  waits.Kind
}

// suspectPause is the least time between two calls of [Watch].Suspect.
const suspectPause = 10 * time.Second

const (
	maxMatches = 1 << 16
	// minWanted is the share of one CPU that threads must at least want before their queue counts.
	minWanted = 0.1
	// minRan is the least age of a thread whose rest proves that it has run: a stop by prywalk begins a new rest, too,
	// and the first look is what stops.
	minRan = int64(time.Second)
	// minSuspect is how long a thread has slept at least that may be in a deadlock.
	minSuspect = int64(time.Second)
)

// Add implements [profile.Sink]. It runs for each interval, on the aggregator's goroutine, so it only adds up: names
// and rules are Refresh's.
func (w *Watch) Add(iv profile.Interval) {
	w.cpu += iv.CPU
	w.queued += iv.RunQueue
	if iv.TID != 0 && slices.ContainsFunc(w.Conditions, func(c Condition) bool { return c.kind == stalled }) {
		if begin, known := w.first[iv.TID]; !known || iv.End-iv.Wall < begin {
			cache.Put(&w.first, maxMatches, iv.TID, iv.End-iv.Wall)
		}
	}
}

// rests is true of a thread that is stopped, too: its time is blocked time.
func rests(iv *profile.Interval) bool { return iv.State != "" && iv.State != sample.Running.String() }

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
		if rests(&iv) {
			iv.Wall += iv.Before
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
			if iv := w.longest(asleep, c, func(iv *profile.Interval) bool { return w.isUnder(iv, c, s) }); iv != nil {
				what = thread(iv) + " has waited for " + tabular.Nanos(iv.Wall)
				if iv.State == sample.Stopped.String() {
					what = thread(iv) + " has been stopped for " + tabular.Nanos(iv.Wall)
				}
			}
		case stalled:
			if iv := w.longest(asleep, c, func(iv *profile.Interval) bool { return w.isStalled(iv, c, s) }); iv != nil {
				what = thread(iv) + " has not run for " + tabular.Nanos(iv.Wall) + atWhat(iv)
			}
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

// share describes a clock's share beyond the limit, or "" if it is within. elapsed is the time since the last Refresh,
// in nanoseconds.
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

// longest returns the longest wait beyond the limit that is selected, or nil; list begins with the longest.
func (w *Watch) longest(
	list []*profile.Interval, c *Condition, isSelected func(*profile.Interval) bool,
) *profile.Interval {
	for _, iv := range list {
		// Names that are not known yet are looked up from half the time on.
		if float64(iv.Wall) <= c.limit/2 {
			break
		}
		if isSelected(iv) && float64(iv.Wall) > c.limit {
			return iv
		}
	}
	return nil
}

// thread names the thread or task of an interval.
func thread(iv *profile.Interval) string {
	what := fmt.Sprintf("thread %d", iv.TID)
	if iv.Task != "" {
		what = iv.Task
	}
	return fmt.Sprintf("%s %s of process %d", what, iv.Thread, iv.PID)
}

// atWhat returns ": it waits for mutex mu, held by thread 7".
func atWhat(iv *profile.Interval) string {
	text, l := ": it waits", waits.ParseLabel(iv.WaitsFor)
	switch {
	case iv.State == sample.Stopped.String():
		return ": it is stopped by a signal or a debugger"
	case l.Kind == waits.Join:
		return text + " for the end of " + l.Object
	case iv.WaitsFor != "":
		text += " for " + iv.WaitsFor
	case iv.Wait != "":
		text += " in " + iv.Wait
	}
	if iv.Owner > 0 {
		text += fmt.Sprintf(", held by thread %d", iv.Owner)
	}
	return text
}

func (w *Watch) isUnder(iv *profile.Interval, c *Condition, s *state) bool {
	return w.matches(place{stack: iv.Stack}, s, func(functions []waits.Frame, _ bool) bool {
		return slices.ContainsFunc(functions, func(f waits.Frame) bool { return c.selected.MatchString(f.Function) })
	})
}

// isStalled is false while names are missing that an idle rule may need.
func (w *Watch) isStalled(iv *profile.Interval, c *Condition, s *state) bool {
	first, known := w.first[iv.TID]
	if iv.TID == 0 || !known || iv.End-iv.Wall < first+minRan || !c.selected.MatchString(iv.Thread) {
		return false
	}
	at := place{iv.Stack, iv.Wait, waits.ParseLabel(iv.WaitsFor).Kind}
	return w.matches(at, s, func(functions []waits.Frame, final bool) bool {
		return final && waits.Idle(at.wait, at.kind, functions).Idle == ""
	})
}

func (w *Watch) matches(at place, s *state, rule func(functions []waits.Frame, final bool) bool) bool {
	if is, known := s.matches[at]; known {
		return is
	}
	functions, final := w.Functions(at.stack)
	is := rule(functions, final)
	if final {
		cache.Put(&s.matches, maxMatches, at, is)
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
		(w.suspectedAt == 0 || at-w.suspectedAt >= int64(suspectPause)) {
		w.suspects, w.suspectedAt = text, at
		w.Suspect(slices.Sorted(maps.Keys(pids)), at)
	}
}
