// SPDX-License-Identifier: Apache-2.0

package top

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

const (
	// keepFor is how long slices are kept: the longest window but the whole.
	keepFor = 60 * time.Second
	// leastSlices are kept however old they are: changes are told from those before.
	leastSlices = recentSlices + baseSlices
)

// thread is a thread that was seen; tid is 0 for what belongs to no thread in particular.
type thread struct {
	pid, tid   int
	comm, name string
}

// lastCell is where a thread's last interval went: a sleeper's goes there again and again.
type lastCell struct {
	known       bool
	stack       sample.StackID
	state, wait string
	waitsFor    string
	cell        int32
}

type threadKey struct{ pid, tid int }

// cellKey is what intervals that are added up have in common. Threads and waits are indices.
type cellKey struct {
	stack        sample.StackID
	thread, wait int32
}

// cell is the sum of such intervals.
type cell struct {
	key        cellKey
	all, fresh Values // all but fresh, and what came since the last refresh
	touched    bool   // it has some that is fresh
}

// delta is what a slice adds to a cell.
type delta struct {
	cell int32
	v    Values
}

// slice is what one refresh brought.
type slice struct {
	from, to int64 // nanoseconds of the Unix epoch
	deltas   []delta
	shares   *shares // of the functions, when they were asked for
}

// Store adds up intervals. It is a profile.Watcher; its methods may be called by several goroutines.
type Store struct {
	mu      sync.Mutex
	cells   []cell
	index   map[cellKey]int32
	threads []thread // those that snapshots have, too: see lent
	lent    bool     // a snapshot has them, and they must not change
	lasts   []lastCell
	byTID   map[threadKey]int32
	waits   []string
	byWait  map[string]int32

	touched []int32
	open    []delta   // what was going on at the last refresh
	slices  []slice   // the oldest first
	spare   [][]delta // of slices that are forgotten
	sums    []Values  // for each cell, in a snapshot's window
	summed  []int32   // the cells that have such a sum
	begin   int64     // of the first slice
	most    int       // so many cells are kept, or twice what had to be
	kept    int       // so many were, when some were dropped last

	refreshed func() // called after each refresh; nil: nobody waits
}

// NewStore gives an empty one for what begins now. It calls refreshed, which must not wait, after each refresh.
func NewStore(begin time.Time, refreshed func()) *Store {
	return &Store{
		index: map[cellKey]int32{}, byTID: map[threadKey]int32{}, byWait: map[string]int32{},
		begin: begin.UnixNano(), refreshed: refreshed, most: mostCells,
	}
}

// Add implements profile.Sink.
func (s *Store) Add(iv profile.Interval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(&iv)
}

// add adds an interval to its cell, and gives that.
func (s *Store) add(iv *profile.Interval) (int32, Values) {
	k := s.thread(iv)
	last := &s.lasts[k]
	if !last.known || last.stack != iv.Stack || last.wait != iv.Wait || last.state != iv.State ||
		last.waitsFor != iv.WaitsFor {
		*last = lastCell{true, iv.Stack, iv.State, iv.Wait, iv.WaitsFor, s.cell(cellKey{iv.Stack, k, s.wait(iv)})}
	}
	n := last.cell
	v := Values{iv.Samples, iv.Wall, iv.RunQueue, iv.CPU}
	s.bring(n, v)
	return n, v
}

// bring adds to what is fresh of a cell.
func (s *Store) bring(n int32, v Values) {
	c := &s.cells[n]
	c.fresh.add(v)
	if !c.touched {
		c.touched = true
		s.touched = append(s.touched, n)
	}
}

func (s *Store) cell(k cellKey) int32 {
	n, ok := s.index[k]
	if !ok {
		n = int32(len(s.cells))
		s.cells = append(s.cells, cell{key: k})
		s.index[k] = n
	}
	return n
}

func (s *Store) thread(iv *profile.Interval) int32 {
	k := threadKey{iv.PID, iv.TID}
	n, ok := s.byTID[k]
	if !ok {
		n = int32(len(s.threads))
		s.threads = append(s.threads, thread{iv.PID, iv.TID, iv.Comm, iv.Thread})
		s.lasts = append(s.lasts, lastCell{})
		s.byTID[k] = n
	}
	if th := &s.threads[n]; th.comm != iv.Comm || th.name != iv.Thread { // programs name threads after they started them
		s.ownThreads()
		s.threads[n].comm, s.threads[n].name = iv.Comm, iv.Thread
	}
	return n
}

// ownThreads gives the store threads that no snapshot has.
func (s *Store) ownThreads() {
	if s.lent {
		s.threads, s.lent = slices.Clone(s.threads), false
	}
}

// wait gives the number of what a thread waits in, or of its state, as report --by wait names it.
func (s *Store) wait(iv *profile.Interval) int32 {
	name := iv.Wait
	switch what := iv.WaitsFor; {
	case name == "":
		name = "[" + iv.State + "]"
	case strings.HasPrefix(what, "/"):
		name += ": file"
	case what != "":
		kind, _, _ := strings.Cut(what, ":[") // not each socket by itself
		name += ": " + kind
	}
	n, ok := s.byWait[name]
	if !ok {
		n = int32(len(s.waits))
		s.waits = append(s.waits, name)
		s.byWait[name] = n
	}
	return n
}

// Refresh implements profile.Watcher.
func (s *Store) Refresh(at int64, open iter.Seq[profile.Interval]) {
	s.mu.Lock()
	s.refresh(at, open)
	s.mu.Unlock()
	if s.refreshed != nil {
		s.refreshed()
	}
}

// Finish is the last refresh: nothing goes on.
func (s *Store) Finish(at time.Time) { s.Refresh(at.UnixNano(), func(func(profile.Interval) bool) {}) }

func (s *Store) refresh(at int64, open iter.Seq[profile.Interval]) {
	for _, d := range s.open { // it is told anew, or has been added
		s.bring(d.cell, Values{-d.v.Samples, -d.v.Wall, -d.v.RunQueue, -d.v.CPU})
	}
	s.open = s.open[:0]
	for iv := range open {
		n, v := s.add(&iv)
		s.open = append(s.open, delta{n, v})
	}
	from := s.begin
	if n := len(s.slices); n > 0 {
		from = s.slices[n-1].to
	}
	sl := slice{from: from, to: max(at, from), deltas: s.room(len(s.touched))}
	for _, n := range s.touched {
		c := &s.cells[n]
		if c.fresh != (Values{}) {
			sl.deltas = append(sl.deltas, delta{n, c.fresh})
		}
		c.all.add(c.fresh)
		c.fresh, c.touched = Values{}, false
	}
	s.touched = s.touched[:0]
	s.slices = append(s.slices, sl)
	s.forget()
}

// room gives an empty list for so many deltas, that of a forgotten slice if it is neither too small nor far too large.
func (s *Store) room(n int) []delta {
	for len(s.spare) > 0 {
		list := s.spare[len(s.spare)-1]
		s.spare = s.spare[:len(s.spare)-1]
		if c := cap(list); c >= n && c <= 4*n+64 {
			return list[:0]
		}
	}
	return make([]delta, 0, n)
}

// forget drops the slices that no window reaches, and cells where there are too many.
func (s *Store) forget() {
	last := s.slices[len(s.slices)-1].to
	old := 0
	for len(s.slices)-old > leastSlices && s.slices[old].to < last-int64(keepFor) {
		s.spare = append(s.spare, s.slices[old].deltas)
		old++
	}
	s.slices = slices.Delete(s.slices, 0, old)
	if len(s.cells) > max(s.most, 2*s.kept) {
		s.evict()
		s.kept = len(s.cells)
	}
}
