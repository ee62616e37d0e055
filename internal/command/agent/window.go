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

// maxPoints limits a window's points: from then on only a row's first interval makes a point, others are added to that.
const maxPoints = 1 << 16

// clockValues are in nanoseconds, by clock.
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

type row struct {
	stack                 sample.StackID
	process               processKey
	tid                   int
	comm, thread, role    string
	state, wait, waitsFor string
	owner                 int // as in profile.Interval
}

type point struct {
	end    int64 // in nanoseconds of Unix time
	values clockValues
}

type window struct {
	from, to  int64 // in nanoseconds of Unix time
	rows      map[row][]point
	clockStep int64 // advance of Unix time from the recording's start to the window's end, in nanoseconds
}

func (w *window) unix(at int64) uint64 { return uint64(at + w.clockStep) }

// processKey has the start, which distinguishes processes with the same pid.
type processKey struct {
	pid   int
	start uint64 // clock ticks after boot
}

// windowBuilder is a [profile.Cutter]. A window belongs to the goroutine of the intervals until it is sent to
// finished, then to the encoding goroutine.
type windowBuilder struct {
	mu            sync.Mutex
	length        time.Duration
	current       window
	points        int
	due           int64 // earliest end of the window, in nanoseconds of Unix time
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
		length: length, finished: make(chan *window, 1), onInterval: onInterval,
		unixOffset: readUnixOffset, offsetAtStart: readUnixOffset(),
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
	r := row{iv.Stack, processKey{iv.PID, iv.Start}, iv.TID, iv.Comm, iv.Thread, iv.Role, iv.State, iv.Wait, iv.WaitsFor,
		iv.Owner}
	p := point{iv.End, clockValues{iv.CPU, iv.Wall, iv.RunQueue}}
	b.onInterval(r.process)
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.current.rows[r]
	if n := len(list); n > 0 && b.points >= maxPoints {
		list[n-1].values.add(p.values)
		list[n-1].end = max(list[n-1].end, p.end)
		return
	}
	b.current.rows[r] = append(list, p)
	b.points++
}

// RefreshCut implements [profile.Cutter]. It ends a due window if the previous one was taken.
func (b *windowBuilder) RefreshCut(at int64, cut func()) {
	b.mu.Lock()
	isDue := at >= b.due && len(b.finished) == 0
	b.mu.Unlock()
	if !isDue {
		return
	}
	cut()
	b.handOver(at)
}

func (b *windowBuilder) handOver(at int64) {
	b.mu.Lock()
	w := b.current
	w.to = max(at, w.from+1)
	w.clockStep = b.clockStep()
	b.beginWindow(w.to)
	b.mu.Unlock()
	if b.onClose != nil {
		b.onClose()
	}
	b.unencoded.Add(1)
	b.finished <- &w
}

func (b *windowBuilder) encoded() { b.unencoded.Add(-1) }

func (b *windowBuilder) heldStacks() iter.Seq[sample.StackID] {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := map[sample.StackID]bool{}
	for r := range b.current.rows {
		held[r.stack] = true
	}
	return maps.Keys(held)
}

// finish hands over the last window. Precondition: all intervals were added.
func (b *windowBuilder) finish(at time.Time) {
	b.handOver(at.UnixNano() - b.clockStep())
	close(b.finished)
}

// minClockStep of Unix time is more than a reading error.
const minClockStep = int64(10 * time.Millisecond)

func (b *windowBuilder) clockStep() int64 {
	if step := b.unixOffset() - b.offsetAtStart; step >= minClockStep || step <= -minClockStep {
		return step
	}
	return 0
}

// readUnixOffset returns Unix time − CLOCK_BOOTTIME, in nanoseconds.
func readUnixOffset() int64 { return procmem.UnixAhead(procmem.SinceBoot, 5) }
