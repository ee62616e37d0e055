// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/tabular"
	"prywalk/internal/waits"
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
	matches           map[match]bool // of stacks with final names

	// Sleeps that a cut has divided go on: added since the last cut, and up to it.
	added, cut map[int]sleep
}

// sleep is the last long sleep of a thread; times are of the Unix epoch, ns.
type sleep struct {
	stack      sample.StackID
	begin, end int64
}

type state struct {
	held     bool
	reported int64
}

type match struct {
	condition int
	stack     sample.StackID
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
	now := w.read(open)
	for i := range w.Conditions {
		c := &w.Conditions[i]
		if c.kind == deadlock {
			w.suspect(now, at)
			continue
		}
		what := now.found(w, i, at-w.last)
		s := &w.states[i]
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

// moment is what threads wait for at one time.
type moment struct {
	asleep  []profile.Interval
	waiters map[lock][]*profile.Interval
	// byTID are the waiters for something with a known owner that have slept long enough.
	byTID map[int]*profile.Interval
}

type lock struct {
	pid   int
	label string
}

func (w *Watch) read(open iter.Seq[profile.Interval]) *moment {
	m := &moment{waiters: map[lock][]*profile.Interval{}, byTID: map[int]*profile.Interval{}}
	for iv := range open {
		if isAsleep(&iv) {
			iv.Wall = iv.End - w.begin(&iv)
			m.asleep = append(m.asleep, iv)
		}
	}
	for i := range m.asleep {
		iv := &m.asleep[i]
		l := waits.ParseLabel(iv.WaitsFor)
		if iv.Owner > 0 && iv.Wall >= minSuspect {
			m.byTID[iv.TID] = iv
		}
		if as := (waits.Wait{Kind: l.Kind, Type: l.Type, Ownership: waits.Ownership{Owner: iv.Owner}}); as.IsLock() {
			k := lock{iv.PID, iv.WaitsFor}
			m.waiters[k] = append(m.waiters[k], iv)
		}
	}
	return m
}

// found describes what fulfils a condition, "" if nothing does. elapsed is the time since the last Refresh, ns.
func (m *moment) found(w *Watch, i int, elapsed int64) string {
	c := &w.Conditions[i]
	switch c.kind {
	case waiters:
		return m.mostWaiters(int(c.limit))
	case blocked:
		return m.blocked(w, i)
	}
	if w.last == 0 || elapsed <= 0 {
		return ""
	}
	wanted := w.cpu + w.queued
	if c.kind == runQueue {
		if float64(wanted) < minWanted*float64(elapsed) || float64(w.queued) <= c.limit*float64(wanted) {
			return ""
		}
		return fmt.Sprintf("threads waited for a CPU for %.0f%% of the time in which they wanted one",
			100*float64(w.queued)/float64(wanted))
	}
	share := float64(w.cpu) / float64(elapsed)
	if share <= c.limit {
		return ""
	}
	return fmt.Sprintf("%.0f%% of one CPU", 100*share)
}

func (m *moment) mostWaiters(limit int) string {
	var most lock
	n := limit
	for l, list := range m.waiters {
		if len(list) > n || len(list) == n && n > limit && l.label < most.label {
			most, n = l, len(list)
		}
	}
	if n == limit {
		return ""
	}
	text := fmt.Sprintf("%d threads of process %d wait for %s", n, most.pid, most.label)
	if owner := m.waiters[most][0].Owner; owner > 0 {
		text += fmt.Sprintf(", held by thread %d", owner)
	}
	return text
}

// blocked returns the longest wait.
func (m *moment) blocked(w *Watch, i int) string {
	var longest *profile.Interval
	for n := range m.asleep {
		iv := &m.asleep[n]
		limit := int64(w.Conditions[i].time)
		// Names that are not known yet are looked up meanwhile.
		if iv.Wall > limit/2 && (longest == nil || iv.Wall > longest.Wall) && w.matchesStack(i, iv.Stack) &&
			iv.Wall > limit {
			longest = iv
		}
	}
	if longest == nil {
		return ""
	}
	what := fmt.Sprintf("thread %d %s", longest.TID, longest.Thread)
	if longest.Task != "" {
		what = longest.Task + " " + longest.Thread
	}
	return fmt.Sprintf("%s of process %d has waited for %s", what, longest.PID, tabular.Nanos(longest.Wall))
}

func (w *Watch) matchesStack(condition int, id sample.StackID) bool {
	key := match{condition, id}
	if is, known := w.matches[key]; known {
		return is
	}
	names, final := w.Functions(id)
	is := slices.ContainsFunc(names, w.Conditions[condition].function.MatchString)
	if final {
		if w.matches == nil || len(w.matches) >= maxMatches {
			w.matches = map[match]bool{}
		}
		w.matches[key] = is
	}
	return is
}

// suspect reports cycles of owners, and processes with two waiters for locks that store no owner, unless it has
// reported the same threads already.
func (w *Watch) suspect(m *moment, at int64) {
	owners, pids, unowned := map[int]int{}, map[int]bool{}, map[int]int{}
	var who []string
	for tid, iv := range m.byTID {
		owners[tid] = iv.Owner
	}
	for _, cycle := range waits.Cycles(owners) {
		for _, tid := range cycle {
			pids[m.byTID[tid].PID] = true
			who = append(who, fmt.Sprint(tid, m.byTID[tid].WaitsFor))
		}
	}
	for l, list := range m.waiters {
		for _, iv := range list {
			if waits.ParseLabel(l.label).Kind == waits.Semaphore && iv.Owner == 0 && iv.Wall >= minSuspect {
				if unowned[l.pid]++; unowned[l.pid] > 1 {
					pids[l.pid] = true
				}
				who = append(who, fmt.Sprint(iv.TID, l.label))
			}
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
