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
	numbers          map[string][]int64            // labels
	labels           map[int32]map[string][]string // by wait, made as snapshots need them
}

// wait is a call, and what it waits for: a label, of a file its type; of threads that do not wait, their state.
type wait struct{ state, call, object string }

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
	stack  sample.StackID
	wait   int32
	thread *thread
}

// Values are ticks, and the clocks in nanoseconds.
type Values struct{ Samples, Wall, RunQueue, CPU int64 }

// sums are the times by cell.
type sums map[cellKey]Values

func (s sums) add(k cellKey, v Values) {
	all := s[k]
	s[k] = Values{all.Samples + v.Samples, all.Wall + v.Wall, all.RunQueue + v.RunQueue, all.CPU + v.CPU}
}

type timeSlice struct {
	from, to int64 // in nanoseconds of Unix time
	deltas   sums
}

// Store sums intervals. It is a profile.Watcher, safe for concurrent use, except HeldStacks: on Add's goroutine only.
type Store struct {
	mu           sync.Mutex
	cells        sums // until the last refresh
	sinceRefresh sums
	open         sums // of the open intervals at the last refresh; part of cells
	timeSlices   []timeSlice
	threads      map[threadKey]*thread
	threadIDs    int32
	waits        []wait
	byWait       map[wait]int32

	begin     int64
	maxCells  int
	keptCells int // number of cells after the last eviction

	refreshed func()
}

// NewStore returns a Store of a recording that begins at begin. refreshed is called after each refresh, and must not
// block.
func NewStore(begin time.Time, refreshed func()) *Store {
	return &Store{
		cells: sums{}, sinceRefresh: sums{}, open: sums{}, threads: map[threadKey]*thread{},
		byWait: map[wait]int32{}, begin: begin.UnixNano(), refreshed: refreshed,
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
	k = cellKey{iv.Stack, s.waitIndex(iv), s.threadOf(iv)}
	v = Values{iv.Samples, iv.Wall, iv.RunQueue, iv.CPU}
	s.sinceRefresh.add(k, v)
	return k, v
}

// threadOf returns the interval's thread, and updates its name.
func (s *Store) threadOf(iv *profile.Interval) *thread {
	th := s.known(thread{pid: iv.PID, tid: iv.TID, comm: iv.Comm, name: iv.Thread, task: iv.Task})
	if th.comm != iv.Comm || th.name != iv.Thread {
		th.comm, th.name = iv.Comm, iv.Thread
		clear(th.labels)
	}
	return th
}

// known returns the thread with the key of this one, perhaps new.
func (s *Store) known(th thread) *thread {
	known := s.threads[th.key()]
	if known == nil {
		s.threadIDs++
		known = new(th) // else each call would allocate
		known.id, known.labels = s.threadIDs, map[int32]map[string][]string{}
		known.numbers = map[string][]int64{profile.LabelPID: {int64(th.pid)}, profile.LabelTID: {int64(th.tid)}}
		s.threads[th.key()] = known
	}
	return known
}

// maxWaits bounds named waits, as locks and joined threads may come without end.
const maxWaits = 1 << 12

// waitIndex keeps only call and kind beyond maxWaits.
func (s *Store) waitIndex(iv *profile.Interval) int32 {
	w := wait{call: iv.Wait, object: iv.WaitsFor}
	if w.call == "" {
		w = wait{state: iv.State}
	}
	n, ok := s.byWait[w]
	if ok {
		return n
	}
	if label := waits.ParseLabel(w.object); label.Kind == waits.NoWait { // files may come without end, too
		w.object = label.String()
	} else if len(s.waits) >= maxWaits {
		w.object = string(label.Kind)
	}
	return profile.NumberIn(&s.waits, s.byWait, w)
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
