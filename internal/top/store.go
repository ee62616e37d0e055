// SPDX-License-Identifier: Apache-2.0

package top

import (
	"iter"
	"slices"
	"sync"
	"time"

	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
)

const (
	// maxSliceAge is the longest limited window.
	maxSliceAge = 60 * time.Second
)

// thread is one thread, or several if tid is 0. Tasks with the same first function are one thread: task is their kind,
// name the function.
type thread struct {
	id               int32 // constant, while an eviction changes the index
	pid, tid         int
	comm, name, task string
}

type lastCell struct {
	valid       bool
	stack       sample.StackID
	state, wait string
	waitsFor    string
	cell        int32
}

// wait is also the state of threads that do not wait.
type wait struct {
	// name is the call and the waits_for label (a file as "file", a socket without its peer). Unlike in report --by
	// wait, a lock keeps its address, and no function is added.
	name string
	// kind is [waits.NoWait] for a state or file. [waits.ParsedLabel.String] begins a semaphore's name with its type.
	kind waits.Kind
}

type threadKey struct {
	pid, tid   int
	task, name string
}

func (t *thread) key() threadKey {
	k := threadKey{pid: t.pid, tid: t.tid, task: t.task}
	if t.task != "" || t.tid == 0 {
		k.name = t.name
	}
	return k
}

type cellKey struct {
	stack        sample.StackID
	thread, wait int32
}

type storedCell struct {
	key               cellKey
	all, sinceRefresh Values
	touched           bool
}

type delta struct {
	cell int32
	v    Values
}

type timeSlice struct {
	from, to int64 // Unix epoch, ns
	deltas   []delta
}

// Store sums intervals. It is a profile.Watcher, safe for concurrent use, except HeldStacks: on Add's goroutine only.
type Store struct {
	mu            sync.Mutex
	cells         []storedCell
	index         map[cellKey]int32
	threads       []thread // immutable while threadsShared: snapshots have them
	threadsShared bool
	threadIDs     int32
	lastCells     []lastCell
	byThread      map[threadKey]int32
	waits         []wait // shared with snapshots
	byWait        map[string]int32

	touched    []int32
	open       []delta // at the last refresh
	timeSlices []timeSlice
	freeDeltas [][]delta
	sums       []Values // by cell, in a snapshot's window
	summed     []int32
	begin      int64
	maxCells   int
	keptCells  int // number of cells after the last eviction

	refreshed func()
}

// NewStore returns a Store of a recording that begins at begin. refreshed is called after each refresh, and must not
// block.
func NewStore(begin time.Time, refreshed func()) *Store {
	return &Store{
		index: map[cellKey]int32{}, byThread: map[threadKey]int32{}, byWait: map[string]int32{},
		begin: begin.UnixNano(), refreshed: refreshed, maxCells: maxCells,
	}
}

// Add implements profile.Sink.
func (s *Store) Add(iv profile.Interval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(&iv)
}

func (s *Store) add(iv *profile.Interval) (cell int32, v Values) {
	th := s.threadIndex(iv)
	last := &s.lastCells[th]
	if !last.isOf(iv) {
		key := cellKey{iv.Stack, th, s.waitIndex(iv)}
		*last = lastCell{true, iv.Stack, iv.State, iv.Wait, iv.WaitsFor, s.cellIndex(key)}
	}
	v = Values{iv.Samples, iv.Wall, iv.RunQueue, iv.CPU}
	s.addSinceRefresh(last.cell, v)
	return last.cell, v
}

func (l *lastCell) isOf(iv *profile.Interval) bool {
	return l.valid && l.stack == iv.Stack && l.wait == iv.Wait && l.state == iv.State && l.waitsFor == iv.WaitsFor
}

func (s *Store) addSinceRefresh(cell int32, v Values) {
	c := &s.cells[cell]
	c.sinceRefresh.add(v)
	if !c.touched {
		c.touched = true
		s.touched = append(s.touched, cell)
	}
}

func (s *Store) cellIndex(k cellKey) int32 {
	n, ok := s.index[k]
	if !ok {
		n = int32(len(s.cells))
		s.cells = append(s.cells, storedCell{key: k})
		s.index[k] = n
	}
	return n
}

// threadIndex updates the thread's name.
func (s *Store) threadIndex(iv *profile.Interval) int32 {
	k := (&thread{pid: iv.PID, tid: iv.TID, name: iv.Thread, task: iv.Task}).key()
	n, ok := s.byThread[k]
	if !ok {
		n = s.addThread(thread{s.newThreadID(), iv.PID, iv.TID, iv.Comm, iv.Thread, iv.Task})
	}
	if th := &s.threads[n]; th.comm != iv.Comm || th.name != iv.Thread {
		s.copySharedThreads()
		s.threads[n].comm, s.threads[n].name = iv.Comm, iv.Thread
	}
	return n
}

func (s *Store) addThread(th thread) int32 {
	n := int32(len(s.threads))
	s.threads = append(s.threads, th)
	s.lastCells = append(s.lastCells, lastCell{})
	s.byThread[th.key()] = n
	return n
}

func (s *Store) newThreadID() int32 {
	s.threadIDs++
	return s.threadIDs
}

// copySharedThreads must precede a change.
func (s *Store) copySharedThreads() {
	if s.threadsShared {
		s.threads, s.threadsShared = slices.Clone(s.threads), false
	}
}

// maxWaits bounds named waits, as locks and joined threads may come without end.
const maxWaits = 1 << 12

// waitIndex keeps only call and kind beyond maxWaits.
func (s *Store) waitIndex(iv *profile.Interval) int32 {
	name := iv.Wait
	label := waits.ParseLabel(iv.WaitsFor)
	switch {
	case name == "":
		name = "[" + iv.State + "]"
	case iv.WaitsFor != "":
		name += ": " + label.String()
	}
	n, ok := s.byWait[name]
	if !ok && len(s.waits) >= maxWaits && label.Kind != waits.NoWait {
		name = iv.Wait + ": " + string(label.Kind)
		n, ok = s.byWait[name]
	}
	if !ok {
		n = int32(len(s.waits))
		s.waits = append(s.waits, wait{name, label.Kind})
		s.byWait[name] = n
	}
	return n
}

// Refresh implements profile.Watcher.
func (s *Store) Refresh(at int64, open iter.Seq[profile.Interval]) {
	s.mu.Lock()
	s.refresh(at, open)
	s.mu.Unlock()
	s.refreshed()
}

// HeldStacks implements [profile.StackHolder] with the stacks of all cells.
func (s *Store) HeldStacks() (stacks iter.Seq[sample.StackID], ok bool) {
	return func(yield func(sample.StackID) bool) {
		for i := range s.cells { // cells change on Add's goroutine only
			if !yield(s.cells[i].key.stack) {
				return
			}
		}
	}, true
}

// Finish is the last refresh, without open intervals.
func (s *Store) Finish(at time.Time) { s.Refresh(at.UnixNano(), func(func(profile.Interval) bool) {}) }

func (s *Store) refresh(at int64, open iter.Seq[profile.Interval]) {
	for _, d := range s.open { // added again below, or final
		s.addSinceRefresh(d.cell, Values{-d.v.Samples, -d.v.Wall, -d.v.RunQueue, -d.v.CPU})
	}
	s.open = s.open[:0]
	for iv := range open {
		n, v := s.add(&iv)
		s.open = append(s.open, delta{n, v})
	}
	from := s.begin
	if n := len(s.timeSlices); n > 0 {
		from = s.timeSlices[n-1].to
	}
	slice := timeSlice{from: from, to: max(at, from), deltas: s.newDeltas(len(s.touched))}
	for _, n := range s.touched {
		c := &s.cells[n]
		if c.sinceRefresh != (Values{}) {
			slice.deltas = append(slice.deltas, delta{n, c.sinceRefresh})
		}
		c.all.add(c.sinceRefresh)
		c.sinceRefresh, c.touched = Values{}, false
	}
	s.touched = s.touched[:0]
	s.timeSlices = append(s.timeSlices, slice)
	s.dropOld()
}

// newDeltas reuses a dropped slice's list if its size fits.
func (s *Store) newDeltas(n int) []delta {
	for len(s.freeDeltas) > 0 {
		list := s.freeDeltas[len(s.freeDeltas)-1]
		s.freeDeltas = s.freeDeltas[:len(s.freeDeltas)-1]
		if c := cap(list); c >= n && c <= 4*n+64 {
			return list[:0]
		}
	}
	return make([]delta, 0, n)
}

func (s *Store) dropOld() {
	last := s.timeSlices[len(s.timeSlices)-1].to
	old := 0
	for len(s.timeSlices)-old > 1 && s.timeSlices[old].to < last-int64(maxSliceAge) {
		s.freeDeltas = append(s.freeDeltas, s.timeSlices[old].deltas)
		old++
	}
	s.timeSlices = slices.Delete(s.timeSlices, 0, old)
	if len(s.cells) > max(s.maxCells, 2*s.keptCells) {
		s.evict()
		s.keptCells = len(s.cells)
	}
}
