// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/view"
	"prywalk/internal/walk/waits"
)

// GroupRow is a thread or a wait.
type GroupRow struct {
	Values Values
	// Threads is the number of threads, plus the mean number of concurrent tasks.
	Threads      int
	id           int32 // of the thread or wait; the same in later snapshots
	mainFunction int32 // the program's function with most time; −1: none
	snapshot     *Snapshot
	waits        bool
	tasks        bool // some of its time is of tasks
	// Idleness is that of all its time; zero if its parts differ.
	waits.Idleness
}

// Name is the name of the thread or the wait.
func (r *GroupRow) Name() string {
	if r.waits {
		return printable.String(r.snapshot.waitName(r.id))
	}
	return r.snapshot.threadName(r.id)
}

// MainFunction returns the program's function with most time, or "".
func (r *GroupRow) MainFunction() string {
	if r.mainFunction < 0 {
		return ""
	}
	return r.snapshot.frames[r.mainFunction].DisplayName()
}

// Threads sums by thread.
func (snap *Snapshot) Threads(c Clock) []GroupRow { return snap.groups(c, false) }

// Waits sums by wait.
func (snap *Snapshot) Waits(c Clock) []GroupRow { return snap.groups(c, true) }

// queuedWait is the wait of time in the run queue, as in report --by wait.
const queuedWait = int32(-2)

func (snap *Snapshot) waitName(id int32) string {
	if id == queuedWait {
		return view.WaitsForCPU
	}
	return snap.waits[id].name
}

// isState reports that threads of a wait do not wait.
func (snap *Snapshot) isState(id int32) bool { return strings.HasPrefix(snap.waits[id].name, "[") }

// groups puts idle groups last.
func (snap *Snapshot) groups(clock Clock, waits bool) (rows []GroupRow) {
	cells := map[int32][]*Cell{}
	for i := range snap.Cells {
		c := &snap.Cells[i]
		id := c.thread
		if waits {
			id = c.wait
			if c.v.RunQueue > 0 && snap.isState(id) {
				queued, rest := *c, *c
				queued.v = Values{Wall: c.v.RunQueue, RunQueue: c.v.RunQueue}
				rest.v.Wall, rest.v.RunQueue = c.v.Wall-c.v.RunQueue, 0
				cells[queuedWait], c = append(cells[queuedWait], &queued), &rest
			}
		}
		cells[id] = append(cells[id], c)
	}
	for id, list := range cells {
		r := GroupRow{id: id, snapshot: snap, waits: waits}
		r.addCells(list, clock)
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b GroupRow) int {
		var byName int
		if waits {
			byName = cmp.Compare(snap.waitName(a.id), snap.waitName(b.id))
		} else {
			x, y := snap.threads[a.id], snap.threads[b.id]
			byName = cmp.Or(cmp.Compare(x.pid, y.pid), cmp.Compare(x.tid, y.tid))
		}
		return cmp.Or(cmp.Compare(a.Rank(), b.Rank()), cmp.Compare(b.Values.of(clock), a.Values.of(clock)),
			cmp.Compare(b.Values.Wall, a.Values.Wall), byName, cmp.Compare(a.id, b.id))
	})
	return rows
}

func (r *GroupRow) addCells(cells []*Cell, clock Clock) {
	snap, tasks, threads, times := r.snapshot, int64(0), map[int32]bool{}, map[int32]int64{}
	for _, c := range cells {
		r.Values.add(c.v)
		if snap.threads[c.thread].task != "" {
			tasks += c.v.Wall
		} else {
			threads[c.thread] = true
		}
		if len(c.stack) > 0 {
			v := c.v.of(clock)
			if v == 0 {
				v = c.v.Wall / 1e3 // a fallback of low weight
			}
			times[snap.programFunction(c.stack)] += v
		}
	}
	r.Threads = len(threads)
	if tasks > 0 && snap.Length > 0 {
		r.tasks = true
		r.Threads += max(1, int(math.Round(float64(tasks)/float64(snap.Length))))
	}
	r.mainFunction = -1
	for f, v := range times {
		best := r.mainFunction
		if best < 0 || v > times[best] || v == times[best] &&
			cmp.Or(cmp.Compare(snap.frames[f].Name, snap.frames[best].Name), cmp.Compare(f, best)) < 0 {
			r.mainFunction = f
		}
	}
	r.Idleness = snap.idleness(cells)
}

// programFunction is the stack's function that is most the program's own, else its innermost frame.
func (snap *Snapshot) programFunction(stack []int32) int32 {
	i, _ := view.OwnFrame(stack, func(n int32) *view.Frame { return &snap.frames[n].Frame })
	return stack[i]
}
