// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

// maxPoints limits a window's points. Further intervals are added to their row's last point.
const maxPoints = 1 << 16

// values are ns, by clock.
type values [clocks]int64

const (
	clockCPU = iota
	clockWall
	clockRunQueue
	clocks
)

var clockNames = [clocks]string{profile.TypeCPU, profile.TypeWall, profile.TypeRunQueue}

func (v *values) add(w values) {
	for i := range v {
		v[i] += w[i]
	}
}

func valuesOf(iv *profile.Interval) values { return values{iv.CPU, iv.Wall, iv.RunQueue} }

type row struct {
	stack sample.StackID
	processKey
	tid                   int
	comm, thread, role    string
	state, wait, waitsFor string
	owner                 int // as in profile.Interval
	task                  string
}

func rowOf(iv *profile.Interval) row {
	return row{iv.Stack, processOf(iv), iv.TID, iv.Comm, iv.Thread, iv.Role, iv.State, iv.Wait, iv.WaitsFor, iv.Owner,
		iv.Task}
}

type point struct {
	end    int64 // Unix epoch, ns
	values values
}

type window struct {
	from, to int64 // Unix epoch, ns
	rows     map[row][]point
	step     int64 // how far Unix time was set forward from the recording's begin to the window's end, ns
}

func (w *window) unix(at int64) uint64 { return uint64(at + w.step) }

// processKey tells a process from a later one with its pid.
type processKey struct {
	pid   int
	start uint64 // clock ticks after boot
}

func processOf(iv *profile.Interval) processKey { return processKey{iv.PID, iv.Start} }

// unnamed drops the names, which can change while a thread sleeps.
func (r row) unnamed() row {
	r.comm, r.thread, r.role = "", "", ""
	return r
}

// excess is sent time that belongs to other rows.
type excess struct {
	values
	windows int // since it was sent
}

// owedWindows is how long excess waits for its own row.
const owedWindows = 60

// Store divides intervals into windows. It is a [profile.Watcher].
type Store struct {
	mu         sync.Mutex
	length     time.Duration
	current    window
	points     int
	due        int64          // earliest end of the window, Unix epoch, ns
	open       map[row]values // sent time of open intervals
	owed       map[row]excess // by unnamed row
	handedOut  chan *window
	unencoded  atomic.Int32
	onInterval func(processKey)
	onClose    func(*window) // called before a window is handed out
	ahead      func() int64
	began      int64 // ahead at the begin
}

// NewStore returns a Store of windows of about length. onInterval is called with each interval's process, and must be
// brief.
func NewStore(begin time.Time, length time.Duration, onInterval func(processKey)) *Store {
	s := &Store{
		length: length, open: map[row]values{}, owed: map[row]excess{}, handedOut: make(chan *window, 1),
		onInterval: onInterval, ahead: unixAhead, began: unixAhead(),
	}
	s.beginWindow(begin.UnixNano())
	return s
}

// beginWindow varies the length by a tenth, against resonance with programs and agents.
func (s *Store) beginWindow(at int64) {
	s.current = window{from: at, rows: map[row][]point{}}
	s.points = 0
	s.due = at + int64(float64(s.length)*(0.9+0.2*rand.Float64()))
}

// Add implements [profile.Sink].
func (s *Store) Add(iv profile.Interval) {
	s.onInterval(processOf(&iv))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(rowOf(&iv), point{iv.End, valuesOf(&iv)})
}

func (s *Store) add(r row, p point) {
	list := s.current.rows[r]
	if n := len(list); n > 0 && s.points >= maxPoints {
		list[n-1].values.add(p.values)
		list[n-1].end = max(list[n-1].end, p.end)
		return
	}
	s.current.rows[r] = append(list, p)
	s.points++
}

// Refresh implements [profile.Watcher]. It ends a due window if the one before was taken.
func (s *Store) Refresh(at int64, open iter.Seq[profile.Interval]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at < s.due || len(s.handedOut) > 0 {
		return
	}
	s.handOut(s.endWindow(at, open, false))
}

func (s *Store) handOut(w *window) {
	s.unencoded.Add(1)
	s.handedOut <- w
}

func (s *Store) encoded() { s.unencoded.Add(-1) }

func (w *window) stacks(yield func(sample.StackID) bool) {
	for r := range w.rows {
		if !yield(r.stack) {
			return
		}
	}
}

// held returns the stacks of the window, of open intervals and of excess.
func (s *Store) held() iter.Seq[sample.StackID] {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := map[sample.StackID]bool{}
	for r := range s.current.rows {
		is[r.stack] = true
	}
	for r := range s.open {
		is[r.stack] = true
	}
	for r := range s.owed {
		is[r.stack] = true
	}
	return maps.Keys(is)
}

// Finish hands out the last window. Precondition: all intervals were added.
func (s *Store) Finish(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handOut(s.endWindow(at.UnixNano()-s.step(), func(func(profile.Interval) bool) {}, true))
	close(s.handedOut)
}

// endWindow adds the growth of open intervals, and returns the window. Intervals of running threads are left out: their
// time may still be attributed to another stack.
func (s *Store) endWindow(at int64, open iter.Seq[profile.Interval], last bool) *window {
	grown := map[row]values{}
	for iv := range open {
		if iv.State != sample.Running.String() {
			s.onInterval(processOf(&iv))
			r := rowOf(&iv)
			v := grown[r]
			v.add(valuesOf(&iv))
			grown[r] = v
		}
	}
	change := maps.Clone(grown)
	for r, before := range s.open {
		v := change[r]
		for i := range v {
			v[i] -= before[i]
		}
		change[r] = v
	}
	s.open = grown
	for r, v := range change {
		s.addGrowth(r, point{at, v})
	}
	s.subtractOwed(last)
	w := s.current
	w.to = max(at, w.from+1)
	w.step = s.step()
	s.beginWindow(w.to)
	if s.onClose != nil {
		s.onClose(&w)
	}
	return &w
}

// addGrowth adds an open interval's growth. That of an ended one is negative: all its time was added, and a part was
// sent before.
func (s *Store) addGrowth(r row, p point) {
	less := values{}
	for i, v := range p.values {
		if v < 0 {
			less[i], p.values[i] = -v, 0
		}
	}
	if p.values != (values{}) {
		s.add(r, p)
	}
	if less = subtract(s.current.rows[r], less); less != (values{}) {
		less.add(s.owed[r.unnamed()].values)
		s.owed[r.unnamed()] = excess{values: less}
	}
}

// subtractOwed subtracts what was sent in excess. Excess arises if a thread is renamed in a sleep, or a woken thread in
// the run queue counted as asleep: its sleep is shortened later. It is subtracted from the same thread's next time in
// the same place; after owedWindows, and in the last window, from any time of the process. A process without any has
// ended.
func (s *Store) subtractOwed(last bool) {
	for r, list := range s.current.rows {
		if e, ok := s.owed[r.unnamed()]; ok {
			e.values = subtract(list, e.values)
			s.setOwed(r.unnamed(), e)
		}
	}
	for r, e := range s.owed {
		e.windows++
		if (last || e.windows > owedWindows) && !s.subtractFromOthers(&r, &e.values) {
			e.values = values{}
		}
		s.setOwed(r, e)
	}
}

// subtractFromOthers subtracts v from r's thread, then its process; false: that has no rows.
func (s *Store) subtractFromOthers(r *row, v *values) (some bool) {
	for _, ofThread := range []bool{true, false} {
		for other, list := range s.current.rows {
			if other.processKey == r.processKey && (other.tid == r.tid || !ofThread) {
				*v = subtract(list, *v)
				some = true
			}
		}
	}
	return some
}

func (s *Store) setOwed(r row, e excess) {
	if s.owed[r] = e; e.values == (values{}) {
		delete(s.owed, r)
	}
}

// subtract subtracts v from the last points on, and returns the rest.
func subtract(list []point, v values) values {
	for i := len(list) - 1; i >= 0 && v != (values{}); i-- {
		for c := range v {
			n := min(v[c], list[i].values[c])
			list[i].values[c] -= n
			v[c] -= n
		}
	}
	return v
}

// minClockStep of Unix time is no error of reading, ns.
const minClockStep = 10e6

// step is how far Unix time was set forward since the begin, ns.
func (s *Store) step() int64 {
	if step := s.ahead() - s.began; step >= minClockStep || step <= -minClockStep {
		return step
	}
	return 0
}

// unixAhead returns Unix time − CLOCK_BOOTTIME, ns, which only a set clock changes. It takes the shortest of several
// readings: preemption may come between the clocks.
func unixAhead() (ahead int64) {
	for shortest, n := int64(math.MaxInt64), 0; n < 5; n++ {
		before := procmem.SinceBoot()
		now := time.Now().UnixNano()
		if took := procmem.SinceBoot() - before; took < shortest {
			shortest, ahead = took, now-before-took/2
		}
	}
	return ahead
}
