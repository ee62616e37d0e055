// SPDX-License-Identifier: Apache-2.0

package selfruntime

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
// A collection waits for all goroutines, and its threads may be queued for a processor, while a target's thread
// stands stopped. So the Go runtime does not collect by itself during sampling. The aggregator, which makes most of
// the garbage, measures it and asks for a collection; the tracer then begins no stops and has it made when none is
// pending. The ticks it takes are missed and counted; hurry.go shortens it.

const (
	// leastHeap, bytes: the first collection; later ones at twice what the last left.
	leastHeap = 32 << 20
	// thriftyHeap is how much garbage there is at least, for a thrifty collector.
	thriftyHeap = 8 << 20
	// thriftyTotal is how much memory a thrifty process has before the Go runtime collects by itself all the same.
	thriftyTotal = 72 << 20
	// measureEvery is how often the aggregator asks how much there is, in nanoseconds.
	measureEvery = 20e6
	// DrainFor bounds the wait for pending stops, ns: longer than any stays pending.
	DrainFor = 3e9
)

// Collector decides when garbage is collected.
type Collector struct {
	want  atomic.Bool  // by the aggregator
	limit atomic.Int64 // bytes

	measured int64            // the aggregator's: when it asked last, CLOCK_MONOTONIC ns
	sample   []metrics.Sample // all objects, dead ones that were not yet found so included
	live     []metrics.Sample // objects that the last collection has left

	asked int64 // the tracer's: since when it has begun no observations; 0: it does
	// Thrifty: the process runs for days beside others. A collection is asked for when a quarter of the heap is garbage,
	// and free memory goes back to the kernel. Else it stays: the Go runtime's own scavenger follows a goal that there is
	// not while it does not collect by itself.
	Thrifty bool
	// Await waits for the end of a collection, nil if there are no stops to serve meanwhile.
	Await func(done <-chan struct{})
}

// NewCollector makes one for a sampler.
func NewCollector() *Collector {
	g := &Collector{
		sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}},
		live:   []metrics.Sample{{Name: "/gc/heap/live:bytes"}},
	}
	g.limit.Store(leastHeap)
	return g
}

// Ask asks for a collection, from any goroutine.
func (g *Collector) Ask() { g.want.Store(true) }

// Measure asks for one if there is enough garbage. For the aggregator.
func (g *Collector) Measure(now int64) {
	if now-g.measured < measureEvery || g.want.Load() {
		return
	}
	g.measured = now
	limit := g.limit.Load()
	if g.Thrifty { // the runtime may have collected, too
		limit = g.nextAt(read(g.live), 0)
	}
	if read(g.sample) >= limit {
		g.Ask()
	}
}

// read gives a metric in bytes.
func read(sample []metrics.Sample) int64 {
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}

// Draining reports whether no stops are to be begun.
func (g *Collector) Draining(now int64) bool {
	if !g.want.Load() {
		return false
	}
	if g.asked == 0 {
		g.asked = now
	}
	return true
}

// Collect collects if asked for and no stop is pending. A given-up stop, whose thread may be in a call for hours,
// does not count.
func (g *Collector) Collect(now int64, waiting int) {
	if g.asked == 0 || waiting > 0 && now-g.asked < DrainFor {
		return
	}
	done := make(chan struct{})
	undo := hurry() // before it begins
	go func() {
		defer close(done)
		if g.Thrifty {
			debug.FreeOSMemory() // it collects, too
		} else {
			runtime.GC()
		}
		left := read([]metrics.Sample{{Name: g.sample[0].Name}})
		if g.Thrifty {
			debug.SetMemoryLimit(max(thriftyTotal, left+max(left/4, 2*thriftyHeap)))
		}
		g.limit.Store(g.nextAt(left, quiet.memory.Load()))
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
func (g *Collector) nextAt(left, total int64) int64 {
	if g.Thrifty {
		return max(left+max(left/4, thriftyHeap), leastHeap)
	}
	next := 2 * left
	if total > 0 && next > total/4*3 {
		next = max(left+leastHeap, total/4*3)
	}
	return max(leastHeap, next)
}

// quiet is the runtime's state while samplers run.
var quiet struct {
	sync.Mutex
	samplers, percent, procs int
	memory                   atomic.Int64 // limit, bytes
}

// KeepQuiet keeps the runtime from collecting garbage by itself, also where memory gets scarce, and gives it a
// processor more: the tracer never hands back its own. With thrifty it collects where a busy moment, such as the
// beginning, takes much memory sooner than the tracer can have a collection made. The function that it returns undoes
// all of it.
func KeepQuiet(thrifty bool) (undo func()) {
	quiet.Lock()
	defer quiet.Unlock()
	if quiet.samplers++; quiet.samplers == 1 {
		quiet.percent = debug.SetGCPercent(-1)
		limit := int64(math.MaxInt64)
		if thrifty {
			limit = thriftyTotal
		}
		quiet.memory.Store(debug.SetMemoryLimit(limit))
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
