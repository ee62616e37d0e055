// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"time"

	"prywalk/internal/printable"
)

// Cell is what a thread used under one stack, in one state.
type Cell struct {
	stack  []int32 // frames, innermost first
	thread int32
	wait   int32
	v      Values
}

// Snapshot is a window at one moment. It does not change.
type Snapshot struct {
	// At is its end, Length how long it is, Since how long it was sampled for in all.
	At            time.Time
	Length, Since time.Duration
	Cells         []Cell
	frames        []Frame
	support       []bool // of each of frames: it is of the language or the system
	threads       []thread
	waits         []string
	paths         []string  // of modules
	parts         []*shares // of the last slices, the oldest first, for changes
	// Waiting is how many addresses have no name yet.
	Waiting int
	// Whole: the window is all that was sampled.
	Whole   bool
	scratch scratch
}

// Snapshot gives the last part of what was sampled: at least window, if there is as much. 0 is all. Changes can be told
// of one clock. Of used, one that is not needed any more or nil, it takes the memory: with thousands of threads a
// refresh would else leave megabytes to be collected.
func (s *Store) Snapshot(n *Names, window time.Duration, clock Clock, used *Snapshot) *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	out := &Snapshot{At: time.Now(), Whole: window == 0}
	if used != nil {
		out.Cells, out.parts, out.scratch = used.Cells[:0], used.parts[:0], used.scratch
		*used = Snapshot{}
	}
	if k := len(s.slices); k > 0 {
		out.At = time.Unix(0, s.slices[k-1].to)
		out.Since = time.Duration(s.slices[k-1].to - s.begin)
		n.ask(out.At)
	}
	out.waits = s.waits[:len(s.waits):len(s.waits)]
	out.threads, s.lent = s.threads[:len(s.threads):len(s.threads)], true
	if window == 0 || window >= out.Since {
		out.Whole, out.Length = true, out.Since
		out.Cells = slices.Grow(out.Cells, len(s.cells))
		for i := range s.cells {
			out.put(n, s.cells[i].key, s.cells[i].all)
		}
	} else {
		s.sum(out, n, window)
	}
	out.parts = s.shares(out.parts, n, clock)
	out.frames = n.frames[:len(n.frames):len(n.frames)]
	out.support = n.support[:len(n.support):len(n.support)]
	out.Waiting, out.paths = len(n.asked), n.paths[:len(n.paths):len(n.paths)]
	return out
}

// sum adds up the slices of a window.
func (s *Store) sum(out *Snapshot, n *Names, window time.Duration) {
	last := s.slices[len(s.slices)-1].to
	s.sums, s.summed = slices.Grow(s.sums[:0], len(s.cells))[:len(s.cells)], s.summed[:0]
	from := last
	for i := len(s.slices) - 1; i >= 0 && last-from < int64(window); i-- {
		from = s.slices[i].from
		for _, d := range s.slices[i].deltas {
			v := &s.sums[d.cell]
			if *v == (Values{}) {
				s.summed = append(s.summed, d.cell) // twice, if it came back to nothing in between
			}
			v.add(d.v)
		}
	}
	out.Length = time.Duration(last - from)
	out.Cells = slices.Grow(out.Cells, len(s.summed))
	for _, c := range s.summed {
		out.put(n, s.cells[c].key, s.sums[c])
		s.sums[c] = Values{}
	}
}

// put adds a cell that has something. What was told of what goes on may have been more than it came to: in a
// window that begins after that, less than nothing is left.
func (o *Snapshot) put(n *Names, k cellKey, v Values) {
	v = Values{max(v.Samples, 0), max(v.Wall, 0), max(v.RunQueue, 0), max(v.CPU, 0)}
	if v != (Values{}) {
		o.Cells = append(o.Cells, Cell{n.of(k.stack), k.thread, k.wait, v})
	}
}

// threadName is a thread as report --by thread names it.
func (o *Snapshot) threadName(n int32) string {
	th := &o.threads[n]
	name := th.name
	if name == "" {
		name = th.comm
	}
	if th.tid == 0 {
		return printable.Sprintf("%s %s (pid %d)", name, th.comm, th.pid)
	}
	return printable.Sprintf("%s (tid %d)", name, th.tid)
}
