// SPDX-License-Identifier: Apache-2.0

package ownruntime

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// # Garbage
//
// A collection stops all goroutines for a moment, and waits for each. On a busy machine that moment is long, as the
// collector's threads are queued for a processor like all others. A target's thread that was interrupted just before
// stands still all that time. So the Go runtime does not collect by itself while processes are sampled. The
// accountant, which makes most of the garbage, sees how much there is, and asks for a collection. The tracer then
// begins no more looks, and has it made when none is under way. The ticks that this takes are missed, and counted so.
// So that they are few, it hurries (hurry.go).

const (
	// leastHeap is at how many bytes a first collection is asked for; later ones at
	// twice what the last one left.
	leastHeap = 32 << 20
	// measureEvery is how often the accountant asks how much there is, in nanoseconds.
	measureEvery = 20e6
	// DrainFor is how long the tracer waits for looks that are under way, in
	// nanoseconds: longer than any stays pending.
	DrainFor = 3e9
)

// Collector decides when garbage is collected.
type Collector struct {
	want  atomic.Bool  // the accountant asks for a collection
	limit atomic.Int64 // at how many bytes it does

	measured int64 // the accountant's: when it asked last, CLOCK_MONOTONIC ns
	sample   []metrics.Sample

	asked int64 // the tracer's: since when it has begun no looks; 0: it does
	// Await waits for the end of a collection, nil if there is nobody to serve meanwhile.
	Await func(done <-chan struct{})
}

// NewCollector makes a collector for one sampler.
func NewCollector() *Collector {
	g := &Collector{sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	g.limit.Store(leastHeap)
	return g
}

// Ask asks for a collection. Any goroutine may call it.
func (g *Collector) Ask() { g.want.Store(true) }

// Measure asks for a collection if there is enough garbage. For the accountant.
func (g *Collector) Measure(now int64) {
	if now-g.measured < measureEvery || g.want.Load() {
		return
	}
	g.measured = now
	if heap(g.sample) >= g.limit.Load() {
		g.Ask()
	}
}

// heap gives the bytes of all objects, dead ones that were not yet found so included.
func heap(sample []metrics.Sample) int64 {
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}

// Draining reports whether no looks are to be begun, because a collection waits for
// those that are under way.
func (g *Collector) Draining(now int64) bool {
	if !g.want.Load() {
		return false
	}
	if g.asked == 0 {
		g.asked = now
	}
	return true
}

// Collect makes a collection if one was asked for and nobody is waited for. A look that was given up does not
// count: its thread, in a call that no signal ends, may not stop for hours.
func (g *Collector) Collect(now int64, waiting int) {
	if g.asked == 0 || waiting > 0 && now-g.asked < DrainFor {
		return
	}
	done := make(chan struct{})
	undo := hurry() // now: an ordinary thread may wait long before it begins
	go func() {
		defer close(done)
		runtime.GC()
		left := heap([]metrics.Sample{{Name: g.sample[0].Name}})
		g.limit.Store(nextAt(left, quiet.memory.Load()))
	}()
	if g.Await != nil {
		g.Await(done)
	}
	<-done
	undo()
	g.asked = 0
	g.want.Store(false)
}

// nextAt gives at how many bytes the next collection is asked for, where the last one left so many. That is at twice
// as many, or sooner where twice as many is most of what the process is to keep within.
func nextAt(left, total int64) int64 {
	next := 2 * left
	if total > 0 && next > total/4*3 {
		next = max(left+leastHeap, total/4*3)
	}
	return max(leastHeap, next)
}

// quiet is what was changed in the Go runtime while anybody samples.
var quiet struct {
	sync.Mutex
	samplers, percent, procs int
	memory                   atomic.Int64 // what the process is to keep within, in bytes
}

// KeepQuiet keeps the runtime from collecting garbage by itself, also where memory gets scarce, and gives it a
// processor more: the tracer never hands back its own. The function that it returns undoes all of it.
func KeepQuiet() (undo func()) {
	quiet.Lock()
	defer quiet.Unlock()
	if quiet.samplers++; quiet.samplers == 1 {
		quiet.percent = debug.SetGCPercent(-1)
		quiet.memory.Store(debug.SetMemoryLimit(math.MaxInt64))
		quiet.procs = runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(quiet.procs + 1)
	}
	return func() {
		quiet.Lock()
		defer quiet.Unlock()
		if quiet.samplers--; quiet.samplers == 0 {
			debug.SetGCPercent(quiet.percent)
			debug.SetMemoryLimit(quiet.memory.Load())
			runtime.GOMAXPROCS(quiet.procs)
		}
	}
}
