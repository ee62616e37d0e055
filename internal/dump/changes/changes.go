// SPDX-License-Identifier: Apache-2.0

// Package changes compares two dumps of one process.
//
// # Algorithm
//
// Threads are paired by ID; a run count that has fallen shows that another thread has the ID. An equal run count proves
// that the thread has not run: a sleeper's was read while it slept, and a thread that was stopped is put on a CPU again
// when it goes on. A core has no run counts, nor has a goroutine or a task: an equal stack proves nothing.
// Stacks of native code are equal if their program counters are, others if functions and lines are.
package changes

import (
	"fmt"
	"slices"
	"time"

	"prywalk/internal/dump/stacks"
	"prywalk/internal/waits"
)

// Changes are the differences between two dumps of one process.
type Changes struct {
	// Origin is the later dump's.
	stacks.Origin
	PID int `json:"pid"`
	// Since is the time of the earlier dump, Seconds the time between both. Absent where one is a core.
	Since   time.Time `json:"since,omitzero"`
	Seconds float64   `json:"seconds,omitempty"`
	// Conclusion is the most important in one sentence.
	Conclusion string `json:"conclusion"`
	Before     Counts `json:"before"`
	After      Counts `json:"after"`
	// Unread is the number of threads that the later dump could not read, which may be among those that ended.
	Unread  int      `json:"threads_unread,omitempty"`
	Threads []Thread `json:"threads"`
	// NewWaiters wait for another thread, and did not wait for this object before. Idle ones are left out.
	NewWaiters []Edge `json:"new_waiters"`
	// StayedEdges are waits for the same object with the same owner in both dumps.
	StayedEdges []Edge `json:"stayed_edges"`
	// Cycles are the cycles of StayedEdges without a time-out, none of whose threads has run: deadlocks.
	Cycles [][]int `json:"cycles"`
	// Grew are the stacks of new threads, goroutines and tasks, the most grown first.
	Grew []Growth `json:"grew"`

	Name string `json:"-"`
}

// Counts are the numbers in one dump. Go's own goroutines do not count.
type Counts struct {
	Threads    int `json:"threads"`
	Goroutines int `json:"goroutines,omitempty"`
	Tasks      int `json:"tasks,omitempty"`
}

// Change is what became of a thread.
type Change string

// The changes, in the order of their display.
const (
	NotRun    Change = "not run"    // proven by equal run counts
	Moved     Change = "moved"      // another stack
	Ran       Change = "ran"        // and has the same stack again
	SameStack Change = "same stack" // of a thread without run counts
	New       Change = "new"
	Ended     Change = "ended"
)

// All are the changes, in the order of their display.
var All = []Change{NotRun, Moved, Ran, SameStack, New, Ended}

// Thread is one thread of either dump.
type Thread struct {
	TID    int    `json:"tid"`
	Name   string `json:"name"`
	Change Change `json:"change"`
	// Runs is how often it was put on a CPU in between, by stops for the dumps, too.
	Runs uint64 `json:"runs,omitempty"`
	// From and To are its places in the dumps: the program's innermost function, if known.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// WaitsFor is what it waits for in the last dump that has it, Idle the rule by which that is no work.
	WaitsFor string `json:"waits_for,omitempty"`
	Idle     string `json:"idle,omitempty"`
}

// Edge is a wait of one thread for another.
type Edge struct {
	Waiter int    `json:"waiter"`
	Owner  int    `json:"owner,omitempty"`
	Object string `json:"object"`
	Place  string `json:"place,omitempty"`
	// NotRun: neither the waiter nor the owner has run.
	NotRun bool `json:"not_run"`

	timed bool
}

// Growth is a stack that more threads, goroutines or tasks have than before.
type Growth struct {
	// Kind is "thread", "goroutine" or "task".
	Kind   string `json:"kind"`
	Before int    `json:"before"`
	After  int    `json:"after"`
	Place  string `json:"place,omitempty"`
	// Stack has the functions, innermost first.
	Stack     []string `json:"stack"`
	CreatedBy string   `json:"created_by,omitempty"`
}

// Compare compares two dumps. It fails if they are not of one process, or in the wrong order.
func Compare(a, b *stacks.Process) (*Changes, error) {
	if err := checkPair(a, b); err != nil {
		return nil, err
	}
	c := &Changes{Origin: b.Origin, PID: b.PID, Name: b.Name, Unread: b.CountFailed(), Before: countsOf(a),
		After: countsOf(b), Threads: []Thread{}, NewWaiters: []Edge{}, StayedEdges: []Edge{}, Cycles: [][]int{},
		Grew: []Growth{}}
	if !a.Time.IsZero() && !b.Time.IsZero() {
		c.Since, c.Seconds = a.Time, b.Time.Sub(a.Time).Seconds()
	}
	for i := range b.Threads {
		t := &b.Threads[i]
		c.addThread(sameThread(a, t), t)
	}
	for i := range a.Threads {
		t := &a.Threads[i]
		if now := b.Thread(t.TID); now == nil || !isSame(t, now) {
			c.Threads = append(c.Threads, describe(t, Ended, place(t), ""))
		}
	}
	c.addEdges(a, b)
	c.addGrowth(a, b)
	c.Conclusion = c.conclude()
	return c, nil
}

func checkPair(a, b *stacks.Process) error {
	switch {
	case a.PID != b.PID:
		return fmt.Errorf("the dumps are of different processes, %d and %d: give two of one", a.PID, b.PID)
	case a.Host != "" && b.Host != "" && a.Host != b.Host:
		return fmt.Errorf("the dumps are of different hosts, %s and %s: give two of one", a.Host, b.Host)
	case a.Start != 0 && b.Start != 0 && a.Start != b.Start:
		return fmt.Errorf("process %d of the later dump is another one, with the ID of the earlier one that has ended: "+
			"make both dumps of the new process", b.PID)
	case !a.Time.IsZero() && !b.Time.IsZero() && b.Time.Before(a.Time):
		return fmt.Errorf("the first dump is %v younger than the second: give the earlier one first",
			a.Time.Sub(b.Time).Round(time.Second/10))
	}
	return nil
}

func countsOf(p *stacks.Process) Counts {
	return Counts{Threads: len(p.Threads), Tasks: len(p.Tasks), Goroutines: len(goroutines(p))}
}

func isSame(before, now *stacks.Thread) bool {
	return now.RunCount == 0 || now.RunCount >= before.RunCount
}

func sameThread(a *stacks.Process, now *stacks.Thread) *stacks.Thread {
	if before := a.Thread(now.TID); before != nil && isSame(before, now) {
		return before
	}
	return nil
}

func describe(t *stacks.Thread, change Change, from, to string) Thread {
	d := Thread{TID: t.TID, Name: t.Name, Change: change, From: from, To: to}
	w := t.WaitsFor
	if w == nil {
		return d
	}
	d.Idle = w.Idle
	if w.Kind.IsSynchronization() || w.Kind == waits.Descriptor {
		d.WaitsFor = w.Object()
	}
	return d
}

func (c *Changes) addThread(before, now *stacks.Thread) {
	if before == nil {
		c.Threads = append(c.Threads, describe(now, New, "", place(now)))
		return
	}
	from, to := places(before, now)
	known := before.RunCount != 0 && now.RunCount != 0
	change := Moved
	switch {
	case known && before.RunCount == now.RunCount:
		change, from = NotRun, to
	case !equalStacks(before, now):
	case known:
		change = Ran
	default:
		change = SameStack
	}
	t := describe(now, change, from, to)
	if known {
		t.Runs = now.RunCount - before.RunCount
	}
	c.Threads = append(c.Threads, t)
}

// Of returns the threads with a change, those that are idle last.
func (c *Changes) Of(change Change) (list []*Thread) {
	for i := range c.Threads {
		if c.Threads[i].Change == change {
			list = append(list, &c.Threads[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *Thread) int { return rank(a) - rank(b) })
	return list
}

func rank(t *Thread) int {
	if t.Idle != "" {
		return 1
	}
	return 0
}

// Thread returns a thread by its ID, or nil.
func (c *Changes) Thread(tid int) *Thread {
	if i := slices.IndexFunc(c.Threads, func(t Thread) bool { return t.TID == tid }); i >= 0 {
		return &c.Threads[i]
	}
	return nil
}

func (c *Changes) hasNotRun(tid int) bool {
	t := c.Thread(tid)
	return t != nil && t.Change == NotRun
}

func (c *Changes) addEdges(a, b *stacks.Process) {
	for i := range b.Threads {
		t := &b.Threads[i]
		w := t.WaitsFor
		if w == nil || !w.Kind.IsSynchronization() {
			continue
		}
		e := Edge{Waiter: t.TID, Owner: w.Owner, Object: w.Object(), Place: place(t), timed: w.Timed}
		switch before := sameThread(a, t); {
		case before == nil || before.WaitsFor == nil || before.WaitsFor.Object() != e.Object:
			if w.Idle == "" && !c.hasNotRun(t.TID) {
				c.NewWaiters = append(c.NewWaiters, e)
			}
		case w.Owner != 0 && before.WaitsFor.Owner == w.Owner:
			e.NotRun = c.hasNotRun(e.Waiter) && c.hasNotRun(e.Owner)
			c.StayedEdges = append(c.StayedEdges, e)
		}
	}
	graph := map[int]int{}
	for _, e := range c.StayedEdges {
		if e.NotRun && !e.timed {
			graph[e.Waiter] = e.Owner
		}
	}
	c.Cycles = append(c.Cycles, waits.Cycles(graph)...)
}
