// SPDX-License-Identifier: Apache-2.0

package top

import (
	"maps"
	"slices"
	"time"

	"prywalk/internal/base/printable"
	"prywalk/internal/walk/waits"
)

// Cell is a thread's time in one stack and state.
type Cell struct {
	stack  []int32
	thread int32
	wait   int32
	v      Values
}

// Snapshot is one window. It is for one goroutine.
type Snapshot struct {
	// At is the window's end, Since the time sampled so far.
	At            time.Time
	Length, Since time.Duration
	Cells         []Cell
	frames        []Frame
	threads       map[int32]thread // by id
	waits         []wait
	paths         []string
	// PendingNames is the number of addresses without a name yet.
	PendingNames int
	// Whole: the window is the whole recording.
	Whole bool
	rules map[idleKey]waits.StackRule
}

// Snapshot returns a window of at least this length, or all there is; 0, and more than maxSliceAge: all.
func (s *Store) Snapshot(functions *FunctionTable, window time.Duration) *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	functions.update()
	out := &Snapshot{At: time.Now()}
	if k := len(s.timeSlices); k > 0 {
		out.At = time.Unix(0, s.timeSlices[k-1].to)
		out.Since = time.Duration(s.timeSlices[k-1].to - s.begin)
	}
	out.waits = s.waits[:len(s.waits):len(s.waits)]
	out.threads = maps.Clone(s.threads)
	cells := s.cells
	if window == 0 || window > maxSliceAge || window >= out.Since {
		out.Whole, out.Length = true, out.Since
	} else {
		cells, out.Length = s.last(window)
	}
	for _, k := range slices.SortedFunc(maps.Keys(cells), compareKeys) {
		out.addCell(functions, k, cells[k])
	}
	out.frames = functions.frames[:len(functions.frames):len(functions.frames)]

	out.PendingNames, out.paths = functions.names.Pending(), functions.paths[:len(functions.paths):len(functions.paths)]
	return out
}

func (s *Store) last(window time.Duration) (cells sums, length time.Duration) {
	cells = sums{}
	last := s.timeSlices[len(s.timeSlices)-1].to
	from := last
	for i := len(s.timeSlices) - 1; i >= 0 && last-from < int64(window); i-- {
		from = s.timeSlices[i].from
		for k, v := range s.timeSlices[i].deltas {
			cells.add(k, v)
		}
	}
	return cells, time.Duration(last - from)
}

// addCell takes negative values, of open intervals that ended with less, as 0.
func (snap *Snapshot) addCell(functions *FunctionTable, k cellKey, v Values) {
	v = Values{max(v.Samples, 0), max(v.Wall, 0), max(v.RunQueue, 0), max(v.CPU, 0)}
	if v != (Values{}) {
		snap.Cells = append(snap.Cells, Cell{functions.functionsOf(k.stack), k.thread, k.wait, v})
	}
}

func (snap *Snapshot) threadName(n int32) string {
	th := snap.threads[n]
	name := th.name
	if name == "" {
		name = th.comm
	}
	if th.task != "" {
		return printable.Sprintf("%s %s", th.task, name)
	}
	if th.tid == 0 {
		return printable.Sprintf("%s %s (pid %d)", name, th.comm, th.pid)
	}
	return printable.Sprintf("%s (tid %d)", name, th.tid)
}
