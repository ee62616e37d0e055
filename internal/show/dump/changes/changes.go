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
	"cmp"
	"fmt"
	"slices"
	"time"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
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
	// NotRun means that neither the waiter nor the owner has run.
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

	hasNew bool // perhaps, of several virtual threads
}

// Compare compares two dumps. It fails if they are not of one process, or in the wrong order.
func Compare(a, b *stacks.Process) (*Changes, error) {
	if err := checkPair(a, b); err != nil {
		return nil, err
	}
	was, is := itemsOf(a), itemsOf(b)
	c := &Changes{Origin: b.Origin, PID: b.PID, Name: b.Name, Unread: b.CountFailed(), Before: countsOf(was),
		After: countsOf(is), Threads: []Thread{}, NewWaiters: []Edge{}, StayedEdges: []Edge{}, Cycles: [][]int{},
		Grew: []Growth{}}
	if !a.Time.IsZero() && !b.Time.IsZero() {
		c.Since, c.Seconds = a.Time, b.Time.Sub(a.Time).Seconds()
	}
	c.addThreads(a, b)
	c.addGrowth(was, is)
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

func (c *Changes) addThreads(a, b *stacks.Process) {
	earlier, notRun := map[int]*stacks.Thread{}, map[int]bool{}
	for i := range a.Threads {
		earlier[a.Threads[i].TID] = &a.Threads[i]
	}
	for i := range b.Threads {
		now := &b.Threads[i]
		before := earlier[now.TID]
		if before != nil && now.RunCount != 0 && now.RunCount < before.RunCount {
			before = nil // another thread has its ID
		}
		if before != nil {
			delete(earlier, now.TID)
		}
		c.Threads = append(c.Threads, describe(before, now))
		notRun[now.TID] = c.Threads[i].Change == NotRun
		c.addEdge(before, now, notRun[now.TID])
	}
	for i := range a.Threads {
		if t := &a.Threads[i]; earlier[t.TID] == t {
			c.Threads = append(c.Threads, describe(t, nil))
		}
	}
	graph := map[int]int{}
	for e := range stacks.Each(c.StayedEdges) {
		if e.NotRun = notRun[e.Waiter] && notRun[e.Owner]; e.NotRun && !e.timed {
			graph[e.Waiter] = e.Owner
		}
	}
	c.Cycles = append(c.Cycles, waits.Cycles(graph)...)
}

// describe returns the change of a thread, or nil if it is not in that dump.
func describe(before, now *stacks.Thread) Thread {
	t := cmp.Or(now, before)
	d := Thread{TID: t.TID, Name: t.Name, Change: Moved}
	switch {
	case now == nil:
		d.Change, d.From = Ended, place(before)
	case before == nil:
		d.Change, d.To = New, place(now)
	default:
		d.From, d.To = places(before, now)
		known := before.RunCount != 0 && now.RunCount != 0
		if known {
			d.Runs = now.RunCount - before.RunCount
		}
		switch {
		case known && d.Runs == 0:
			d.Change, d.From = NotRun, d.To
		case !equalStacks(before, now):
		case known:
			d.Change = Ran
		default:
			d.Change = SameStack
		}
	}
	if w := t.WaitsFor; w != nil {
		d.Idle = w.Idle
		if w.Kind.IsSynchronization() || w.Kind == waits.Descriptor {
			d.WaitsFor = w.Object()
		}
	}
	return d
}

func (c *Changes) addEdge(before, now *stacks.Thread, notRun bool) {
	w := now.WaitsFor
	if w == nil || !w.Kind.IsSynchronization() {
		return
	}
	e := Edge{Waiter: now.TID, Owner: w.Owner, Object: w.Object(), Place: place(now), timed: w.Timed}
	switch {
	case before == nil || before.WaitsFor == nil || before.WaitsFor.Object() != e.Object:
		if w.Idle == "" && !notRun {
			c.NewWaiters = append(c.NewWaiters, e)
		}
	case w.Owner != 0 && before.WaitsFor.Owner == w.Owner:
		c.StayedEdges = append(c.StayedEdges, e)
	}
}

// Of returns the threads with a change, those that are idle last.
func (c *Changes) Of(change Change) (list []*Thread) {
	var idle []*Thread
	for i := range c.Threads {
		switch t := &c.Threads[i]; {
		case t.Change != change:
		case t.Idle != "":
			idle = append(idle, t)
		default:
			list = append(list, t)
		}
	}
	return append(list, idle...)
}

// Thread returns a thread by its ID, or nil.
func (c *Changes) Thread(tid int) *Thread {
	return stacks.Find(c.Threads, func(t *Thread) bool { return t.TID == tid })
}

func innermost(t *stacks.Thread) string {
	if f := stacks.Find(t.Frames, func(f *stacks.Frame) bool { return f.Function != "" }); f != nil {
		return f.Location()
	}
	return ""
}

func place(t *stacks.Thread) string { return cmp.Or(t.OwnPlace(), innermost(t)) }

// places returns the innermost functions as well where the program's are equal.
func places(before, now *stacks.Thread) (from, to string) {
	from, to = place(before), place(now)
	if x, y := innermost(before), innermost(now); from == to && x != y {
		return x + ", in " + from, y + ", in " + to
	}
	return from, to
}

// equalStacks compares the common part where one stack is incomplete.
func equalStacks(a, b *stacks.Thread) bool {
	x, y := a.Frames, b.Frames
	if n := min(len(x), len(y)); n > 0 && !(a.Complete && b.Complete) {
		x, y = x[:n], y[:n]
	}
	return slices.EqualFunc(x, y, func(f, g stacks.Frame) bool {
		if f.Kind == "" && g.Kind == "" && f.PC != 0 && g.PC != 0 {
			return f.PC == g.PC && f.Inlined == g.Inlined
		}
		return f.Function == g.Function && f.File == g.File && f.Line == g.Line
	})
}
