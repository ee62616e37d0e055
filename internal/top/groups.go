// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"math"
	"slices"

	"prywalk/internal/printable"
	"prywalk/internal/view"
	"prywalk/internal/waits"
)

// GroupRow is a thread or a wait.
type GroupRow struct {
	Values Values
	// Threads is the number of threads, plus the mean number of concurrent tasks.
	Threads      int
	index        int32
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
		return printable.String(r.snapshot.waits[r.index].name)
	}
	return r.snapshot.threadName(r.index)
}

// id stays the same in later snapshots.
func (r *GroupRow) id() int32 {
	if r.waits {
		return r.index
	}
	return r.snapshot.threads[r.index].id
}

// MainFunction returns the program's function with most time, or "".
func (r *GroupRow) MainFunction() string {
	if r.mainFunction < 0 {
		return ""
	}
	return r.snapshot.frames[r.mainFunction].DisplayName()
}

// Threads sums by thread. The rows are valid until the next call, or until the snapshot is reused.
func (snap *Snapshot) Threads(scope Scope, c Clock) []GroupRow {
	return snap.groups(scope, c, false, len(snap.threads), func(c *Cell) int32 { return c.thread }, func(a, b int32) int {
		x, y := &snap.threads[a], &snap.threads[b]
		return cmp.Or(cmp.Compare(x.pid, y.pid), cmp.Compare(x.tid, y.tid))
	})
}

// Waits sums by wait. The rows are valid as those of [Snapshot.Threads].
func (snap *Snapshot) Waits(scope Scope, c Clock) []GroupRow {
	return snap.groups(scope, c, true, len(snap.waits), func(c *Cell) int32 { return c.wait }, func(a, b int32) int {
		return cmp.Compare(snap.waits[a].name, snap.waits[b].name)
	})
}

// groups puts idle groups last; tieBreak orders groups of equal time.
func (snap *Snapshot) groups(scope Scope, clock Clock, waits bool, n int, key func(*Cell) int32,
	tieBreak func(a, b int32) int) []GroupRow {
	order, ends := snap.byGroup(scope, n, key)
	t := &snap.scratch
	t.sums, t.stamps = zeroed(t.sums, len(snap.frames)), zeroed(t.stamps, len(snap.threads))
	kept := &t.rows[0]
	if waits {
		kept = &t.rows[1]
	}
	rows := (*kept)[:0]
	from := int32(0)
	for k, end := range ends {
		r := GroupRow{index: int32(k), snapshot: snap, waits: waits}
		r.addCells(order[from:end], clock)
		from = end
		if r.Values != (Values{}) {
			rows = append(rows, r)
		}
	}
	*kept = rows
	slices.SortFunc(rows, func(a, b GroupRow) int {
		return cmp.Or(cmp.Compare(a.Rank(), b.Rank()), cmp.Compare(b.Values.of(clock), a.Values.of(clock)),
			cmp.Compare(b.Values.Wall, a.Values.Wall), tieBreak(a.index, b.index))
	})
	return rows
}

// addCells needs, and leaves, sums of 0 in the scratch.
func (r *GroupRow) addCells(cells []int32, clock Clock) {
	snap, t := r.snapshot, &r.snapshot.scratch
	t.touched = t.touched[:0]
	tasks := int64(0)
	for _, i := range cells {
		c := &snap.Cells[i]
		r.Values.add(c.v)
		if snap.threads[c.thread].task != "" {
			tasks += c.v.Wall
		} else if t.stamps[c.thread] != r.index+1 {
			t.stamps[c.thread] = r.index + 1
			r.Threads++
		}
		if len(c.stack) > 0 {
			v := c.v.of(clock)
			if v == 0 {
				v = c.v.Wall / 1e3 // a fallback of low weight
			}
			f := snap.programFunction(c.stack)
			t.touched = append(t.touched, f)
			t.sums[f] += v
		}
	}
	if tasks > 0 && snap.Length > 0 {
		r.tasks = true
		r.Threads += max(1, int(math.Round(float64(tasks)/float64(snap.Length))))
	}
	r.mainFunction = snap.heaviest(t.touched, t.sums)
	r.Idleness = snap.idleness(cells)
}

func (snap *Snapshot) byGroup(scope Scope, n int, key func(*Cell) int32) (order, ends []int32) {
	t := &snap.scratch
	t.at = zeroed(t.at, n)
	ends, all := t.at, 0
	for i := range snap.Cells {
		if c := &snap.Cells[i]; snap.contains(scope, c) {
			ends[key(c)]++
			all++
		}
	}
	start := int32(0)
	for k := range ends {
		start, ends[k] = start+ends[k], start
	}
	t.order = slices.Grow(t.order[:0], all)[:all]
	for i := range snap.Cells {
		if c := &snap.Cells[i]; snap.contains(scope, c) {
			k := key(c)
			t.order[ends[k]] = int32(i)
			ends[k]++
		}
	}
	return t.order, ends
}

// programFunction is the stack's function that is most the program's own, else its innermost frame.
func (snap *Snapshot) programFunction(stack []int32) int32 {
	i, _ := view.OwnFrame(stack, func(n int32) *view.Frame { return &snap.frames[n].Frame })
	return stack[i]
}

// heaviest clears the sums.
func (snap *Snapshot) heaviest(touched []int32, sums []int64) (best int32) {
	best, most := int32(-1), int64(-1)
	for _, f := range touched {
		if v := sums[f]; v > most || v == most && snap.frames[f].Name < snap.frames[best].Name {
			best, most = f, v
		}
	}
	for _, f := range touched {
		sums[f] = 0
	}
	return best
}
