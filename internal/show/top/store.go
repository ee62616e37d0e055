// SPDX-License-Identifier: Apache-2.0

package top

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

const (
	// maxSliceAge is the longest limited window.
	maxSliceAge = 60 * time.Second
)

// thread is one thread, or several if tid is 0. Tasks with the same first function are one thread: task is their kind,
// name the function.
type thread struct {
	id               int32
	pid, tid         int
	comm, name, task string
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

// sums are the times by cell.
type sums map[cellKey]Values

func (s sums) add(k cellKey, v Values) {
	all := s[k]
	all.add(v)
	s[k] = all
}

type timeSlice struct {
	from, to int64 // Unix epoch, ns
	deltas   sums
}

// Store sums intervals. It is a profile.Watcher, safe for concurrent use, except HeldStacks: on Add's goroutine only.
type Store struct {
	mu           sync.Mutex
	cells        sums // until the last refresh
	sinceRefresh sums
	open         sums // of the open intervals at the last refresh; part of cells
	timeSlices   []timeSlice
	threads      map[int32]thread // by id
	threadIDs    int32
	byThread     map[threadKey]int32
	waits        []wait // shared with snapshots
	byWait       map[string]int32

	begin     int64
	maxCells  int
	keptCells int // number of cells after the last eviction

	refreshed func()
}

// NewStore returns a Store of a recording that begins at begin. refreshed is called after each refresh, and must not
// block.
func NewStore(begin time.Time, refreshed func()) *Store {
	return &Store{
		cells: sums{}, sinceRefresh: sums{}, open: sums{}, threads: map[int32]thread{}, byThread: map[threadKey]int32{},
		byWait: map[string]int32{}, begin: begin.UnixNano(), refreshed: refreshed,
		maxCells: maxCells,
	}
}

// Add implements profile.Sink.
func (s *Store) Add(iv profile.Interval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(&iv)
}

func (s *Store) add(iv *profile.Interval) (k cellKey, v Values) {
	k = cellKey{iv.Stack, s.threadOf(iv), s.waitIndex(iv)}
	v = Values{iv.Samples, iv.Wall, iv.RunQueue, iv.CPU}
	s.sinceRefresh.add(k, v)
	return k, v
}

// threadOf returns the thread's id, and updates its name.
func (s *Store) threadOf(iv *profile.Interval) int32 {
	th := thread{0, iv.PID, iv.TID, iv.Comm, iv.Thread, iv.Task}
	id, ok := s.byThread[th.key()]
	if !ok {
		return s.addThread(th)
	}
	if old := s.threads[id]; old.comm != iv.Comm || old.name != iv.Thread {
		old.comm, old.name = iv.Comm, iv.Thread
		s.threads[id] = old
	}
	return id
}

func (s *Store) addThread(th thread) int32 {
	s.threadIDs++
	th.id = s.threadIDs
	s.threads[th.id] = th
	s.byThread[th.key()] = th.id
	return th.id
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
		for _, cells := range []sums{s.cells, s.sinceRefresh} { // they change on Add's goroutine only
			for k := range cells {
				if !yield(k.stack) {
					return
				}
			}
		}
	}, true
}

// Finish is the last refresh, without open intervals.
func (s *Store) Finish(at time.Time) { s.Refresh(at.UnixNano(), func(func(profile.Interval) bool) {}) }

func (s *Store) refresh(at int64, open iter.Seq[profile.Interval]) {
	for k, v := range s.open { // added again below, or final
		s.sinceRefresh.add(k, Values{-v.Samples, -v.Wall, -v.RunQueue, -v.CPU})
	}
	clear(s.open)
	for iv := range open {
		k, v := s.add(&iv)
		s.open.add(k, v)
	}
	from := s.begin
	if n := len(s.timeSlices); n > 0 {
		from = s.timeSlices[n-1].to
	}
	maps.DeleteFunc(s.sinceRefresh, func(_ cellKey, v Values) bool { return v == Values{} })
	for k, v := range s.sinceRefresh {
		s.cells.add(k, v)
	}
	s.timeSlices = append(s.timeSlices, timeSlice{from, max(at, from), s.sinceRefresh})
	s.sinceRefresh = sums{}
	s.dropOld()
}

func (s *Store) dropOld() {
	last := s.timeSlices[len(s.timeSlices)-1].to
	s.timeSlices = slices.DeleteFunc(s.timeSlices, func(t timeSlice) bool { return t.to < last-int64(maxSliceAge) })
	if len(s.cells) > max(s.maxCells, 2*s.keptCells) {
		s.evict()
		s.keptCells = len(s.cells)
	}
}
