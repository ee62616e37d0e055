// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"iter"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
)

// maxPoints limits a window's points: from then on only a row's first interval makes a point, others are added to their
// row's last one.
const maxPoints = 1 << 16

// clockValues are ns, by clock.
type clockValues [clocks]int64

const (
	clockCPU = iota
	clockWall
	clockRunQueue
	clocks
)

var clockNames = [clocks]string{profile.TypeCPU, profile.TypeWall, profile.TypeRunQueue}

func (v *clockValues) add(w clockValues) {
	for i := range v {
		v[i] += w[i]
	}
}

func valuesOf(iv *profile.Interval) clockValues { return clockValues{iv.CPU, iv.Wall, iv.RunQueue} }

type row struct {
	stack sample.StackID
	processKey
	tid                   int
	comm, thread, role    string
	state, wait, waitsFor string
	owner                 int // as in profile.Interval
}

func rowOf(iv *profile.Interval) row {
	return row{iv.Stack, processOf(iv), iv.TID, iv.Comm, iv.Thread, iv.Role, iv.State, iv.Wait, iv.WaitsFor, iv.Owner}
}

type point struct {
	end    int64 // Unix epoch, ns
	values clockValues
}

type window struct {
	from, to  int64 // Unix epoch, ns
	rows      map[row][]point
	clockStep int64 // advance of Unix time from the recording's start to the window's end, ns
}

func (w *window) unix(at int64) uint64 { return uint64(at + w.clockStep) }

// processKey has the start, which distinguishes processes with the same pid.
type processKey struct {
	pid   int
	start uint64 // clock ticks after boot
}

func processOf(iv *profile.Interval) processKey { return processKey{iv.PID, iv.Start} }

// withoutNames drops what can change during a sleep.
func (r row) withoutNames() row {
	r.comm, r.thread, r.role = "", "", ""
	return r
}

type oversentTime struct {
	clockValues
	windows int // since it was sent
}

// maxOversentWindows is the number of windows in which oversent time waits for its own row.
const maxOversentWindows = 60

// windowBuilder is a [profile.Watcher]. A window belongs to the goroutine of the intervals until it is sent to
// finished, then to the encoding goroutine.
type windowBuilder struct {
	mu            sync.Mutex
	length        time.Duration
	current       window
	points        int
	due           int64                // earliest end of the window, Unix epoch, ns
	open          map[row]clockValues  // sent time of open intervals
	oversent      map[row]oversentTime // by row without names
	finished      chan *window
	unencoded     atomic.Int32
	onInterval    func(processKey)
	onClose       func() // called before a window is handed over
	unixOffset    func() int64
	offsetAtStart int64
}

// newWindowBuilder returns a builder of windows of about length. onInterval is called with each interval's process, and
// must be brief.
func newWindowBuilder(begin time.Time, length time.Duration, onInterval func(processKey)) *windowBuilder {
	b := &windowBuilder{
		length: length, open: map[row]clockValues{}, oversent: map[row]oversentTime{},
		finished:   make(chan *window, 1),
		onInterval: onInterval, unixOffset: readUnixOffset, offsetAtStart: readUnixOffset(),
	}
	b.beginWindow(begin.UnixNano())
	return b
}

// beginWindow varies the length by a tenth, against resonance with programs and other agents.
func (b *windowBuilder) beginWindow(at int64) {
	b.current = window{from: at, rows: map[row][]point{}}
	b.points = 0
	b.due = at + int64(float64(b.length)*(0.9+0.2*rand.Float64()))
}

// Add implements [profile.Sink].
func (b *windowBuilder) Add(iv profile.Interval) {
	b.onInterval(processOf(&iv))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(rowOf(&iv), point{iv.End, valuesOf(&iv)})
}

func (b *windowBuilder) add(r row, p point) {
	list := b.current.rows[r]
	if n := len(list); n > 0 && b.points >= maxPoints {
		list[n-1].values.add(p.values)
		list[n-1].end = max(list[n-1].end, p.end)
		return
	}
	b.current.rows[r] = append(list, p)
	b.points++
}

// Refresh implements [profile.Watcher]. It ends a due window if the previous one was taken.
func (b *windowBuilder) Refresh(at int64, open iter.Seq[profile.Interval]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at < b.due || len(b.finished) > 0 {
		return
	}
	b.handOver(b.endWindow(at, open, false))
}

func (b *windowBuilder) handOver(w *window) {
	b.unencoded.Add(1)
	b.finished <- w
}

func (b *windowBuilder) encoded() { b.unencoded.Add(-1) }

func (b *windowBuilder) heldStacks() iter.Seq[sample.StackID] {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := map[sample.StackID]bool{}
	for r := range b.current.rows {
		held[r.stack] = true
	}
	for r := range b.open {
		held[r.stack] = true
	}
	for r := range b.oversent {
		held[r.stack] = true
	}
	return maps.Keys(held)
}

// finish hands over the last window. Precondition: all intervals were added.
func (b *windowBuilder) finish(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handOver(b.endWindow(at.UnixNano()-b.clockStep(), func(func(profile.Interval) bool) {}, true))
	close(b.finished)
}

// endWindow adds the growth of open intervals, and returns the window. It leaves out running threads, whose time may
// still be attributed to another stack. A sleep of 25 s in windows of 10 s:
//
//	end of window 1   open 10 s               10 s are sent
//	end of window 2   open 20 s, before 10 s  10 s
//	its end           25 s are added (Add)
//	end of window 3   open 0 s, before 20 s   25 s − 20 s = 5 s
func (b *windowBuilder) endWindow(at int64, open iter.Seq[profile.Interval], last bool) *window {
	openNow := map[row]clockValues{}
	for iv := range open {
		if iv.State != sample.Running.String() {
			b.onInterval(processOf(&iv))
			r := rowOf(&iv)
			v := openNow[r]
			v.add(valuesOf(&iv))
			openNow[r] = v
		}
	}
	growth := maps.Clone(openNow)
	for r, before := range b.open {
		v := growth[r]
		for i := range v {
			v[i] -= before[i]
		}
		growth[r] = v
	}
	b.open = openNow
	for r, v := range growth {
		b.addGrowth(r, point{at, v})
	}
	b.subtractOversent(last)
	w := b.current
	w.to = max(at, w.from+1)
	w.clockStep = b.clockStep()
	b.beginWindow(w.to)
	if b.onClose != nil {
		b.onClose()
	}
	return &w
}

// addGrowth adds an interval's growth to its row. Negative growth, of an ended interval, is subtracted from the row's
// points; the rest becomes oversent time.
func (b *windowBuilder) addGrowth(r row, p point) {
	less := clockValues{}
	for i, v := range p.values {
		if v < 0 {
			less[i], p.values[i] = -v, 0
		}
	}
	if p.values != (clockValues{}) {
		b.add(r, p)
	}
	if less = subtract(b.current.rows[r], less); less != (clockValues{}) {
		less.add(b.oversent[r.withoutNames()].clockValues)
		b.oversent[r.withoutNames()] = oversentTime{clockValues: less}
	}
}

// subtractOversent subtracts time sent in excess: a thread was renamed in a sleep, or counted as asleep while it was
// queued. It is subtracted from the thread's next time in the same row; after maxOversentWindows and in the last
// window, by subtractFromOthers. Excess of a process without rows is dropped.
func (b *windowBuilder) subtractOversent(last bool) {
	for r, list := range b.current.rows {
		if e, ok := b.oversent[r.withoutNames()]; ok {
			e.clockValues = subtract(list, e.clockValues)
			b.setOversent(r.withoutNames(), e)
		}
	}
	for r, e := range b.oversent {
		e.windows++
		if (last || e.windows > maxOversentWindows) && !b.subtractFromOthers(&r, &e.clockValues) {
			e.clockValues = clockValues{}
		}
		b.setOversent(r, e)
	}
}

// subtractFromOthers subtracts first in the same stack and state, which keeps sums by stack exact, then from the same
// thread, then from any. false: the process has no rows.
func (b *windowBuilder) subtractFromOthers(r *row, v *clockValues) (hasRows bool) {
	for _, isNext := range []func(*row) bool{
		func(other *row) bool { return other.stack == r.stack && other.state == r.state },
		func(other *row) bool { return other.tid == r.tid },
		func(*row) bool { return true },
	} {
		for other, list := range b.current.rows {
			if other.processKey == r.processKey && isNext(&other) {
				*v = subtract(list, *v)
				hasRows = true
			}
		}
	}
	return hasRows
}

func (b *windowBuilder) setOversent(r row, e oversentTime) {
	if b.oversent[r] = e; e.clockValues == (clockValues{}) {
		delete(b.oversent, r)
	}
}

func subtract(list []point, v clockValues) clockValues {
	for i := len(list) - 1; i >= 0 && v != (clockValues{}); i-- {
		for c := range v {
			n := min(v[c], list[i].values[c])
			list[i].values[c] -= n
			v[c] -= n
		}
	}
	return v
}

// minClockStep of Unix time is more than a reading error, ns.
const minClockStep = 10e6

func (b *windowBuilder) clockStep() int64 {
	if step := b.unixOffset() - b.offsetAtStart; step >= minClockStep || step <= -minClockStep {
		return step
	}
	return 0
}

// readUnixOffset returns Unix time − CLOCK_BOOTTIME, ns.
func readUnixOffset() int64 { return procmem.UnixAhead(procmem.SinceBoot, 5) }
