// SPDX-License-Identifier: Apache-2.0

// Package selfruntime keeps prywalk's Go runtime from delaying stops by garbage collection. It measures prywalk's CPU
// time.
package selfruntime

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// # Garbage
//
// A collection waits for all goroutines while a target's thread may be stopped, and its threads may wait for a CPU. So
// the Go runtime does not collect by itself during sampling, with LowMemory up to a limit. The aggregator asks for a
// collection; then the tracer begins no stops, and collects when none is pending. Missed ticks are counted. One that
// the runtime begins does not wait for the tracer's sleeps (package procmem, pin_unsafe.go).

const (
	// minHeap is the first collection's heap, in bytes. With LowMemory, lowMemoryHeap is the least garbage, and
	// lowMemoryTotal the memory above which the Go runtime collects by itself.
	minHeap        = 32 << 20
	lowMemoryHeap  = 8 << 20
	lowMemoryTotal = 72 << 20
	// ns
	measureEvery = 20e6
	// DrainFor bounds the wait for pending stops, ns.
	DrainFor = 3e9
)

// Collector decides when garbage is collected.
type Collector struct {
	want  atomic.Bool
	limit atomic.Int64 // of the heap, bytes

	measured int64            // by the aggregator, CLOCK_MONOTONIC ns
	sample   []metrics.Sample // objects, with dead ones not yet found
	live     []metrics.Sample // objects after the last collection

	asked int64 // the tracer has begun no stops since, ns; 0: not asked
	// LowMemory is for a process that runs for days: a collection is asked for when garbage is a quarter of the live heap,
	// and returns free memory to the kernel. (The runtime's scavenger has no goal while the runtime does not collect by
	// itself.)
	LowMemory bool
	// Await serves stops until a collection has ended. It may be nil.
	Await func(done <-chan struct{})
}

// NewCollector returns a Collector for a sampler.
func NewCollector() *Collector {
	g := &Collector{
		sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}},
		live:   []metrics.Sample{{Name: "/gc/heap/live:bytes"}},
	}
	g.limit.Store(minHeap)
	return g
}

// Request asks for a collection. Safe for concurrent use.
func (g *Collector) Request() { g.want.Store(true) }

// Measure asks for a collection if there is enough garbage. The aggregator calls it.
func (g *Collector) Measure(now int64) {
	if now-g.measured < measureEvery || g.want.Load() {
		return
	}
	g.measured = now
	limit := g.limit.Load()
	if g.LowMemory {
		limit = g.nextHeap(read(g.live), 0)
	}
	if read(g.sample) >= limit {
		g.Request()
	}
}

func read(sample []metrics.Sample) int64 {
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}

// Draining reports whether no stop may begin.
func (g *Collector) Draining(now int64) bool {
	if !g.want.Load() {
		return false
	}
	if g.asked == 0 {
		g.asked = now
	}
	return true
}

// Collect collects if asked to and no stop is pending, or after DrainFor: a stopped thread may be in a call for hours.
func (g *Collector) Collect(now int64, waiting int) {
	if g.asked == 0 || waiting > 0 && now-g.asked < DrainFor {
		return
	}
	done := make(chan struct{})
	undo := raisePriority() // before it begins
	go func() {
		defer close(done)
		if g.LowMemory {
			debug.FreeOSMemory() // collects, too
		} else {
			runtime.GC()
		}
		left := read([]metrics.Sample{{Name: g.sample[0].Name}})
		if g.LowMemory {
			debug.SetMemoryLimit(max(lowMemoryTotal, left+max(left/4, 2*lowMemoryHeap)))
		}
		g.limit.Store(g.nextHeap(left, gcState.memory.Load()))
	}()
	if g.Await != nil {
		g.Await(done)
	}
	<-done
	undo()
	g.asked = 0
	g.want.Store(false)
}

// The next collection is at twice what the last one left, bytes, or less if that is most of total, the memory limit.
func (g *Collector) nextHeap(left, total int64) int64 {
	if g.LowMemory {
		return max(left+max(left/4, lowMemoryHeap), minHeap)
	}
	next := 2 * left
	if total > 0 && next > total/4*3 {
		next = max(left+minHeap, total/4*3)
	}
	return max(minHeap, next)
}

var gcState struct {
	mu                       sync.Mutex
	samplers, percent, procs int
	memory                   atomic.Int64 // limit, bytes
}

// tracerProcs are added to GOMAXPROCS: one for the tracer, and one that it finds free after a wait, when the rest of
// the process has taken the first.
const tracerProcs = 2

// DisableAutoGC stops the Go runtime from collecting by itself, if lowMemory only up to lowMemoryTotal, and adds
// tracerProcs to GOMAXPROCS. undo restores the former state.
func DisableAutoGC(lowMemory bool) (undo func()) {
	gcState.mu.Lock()
	defer gcState.mu.Unlock()
	if gcState.samplers++; gcState.samplers == 1 {
		gcState.percent = debug.SetGCPercent(-1)
		limit := int64(math.MaxInt64)
		if lowMemory {
			limit = lowMemoryTotal
		}
		gcState.memory.Store(debug.SetMemoryLimit(limit))
		gcState.procs = runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(gcState.procs + tracerProcs)
	}
	return func() {
		gcState.mu.Lock()
		defer gcState.mu.Unlock()
		if gcState.samplers--; gcState.samplers == 0 {
			debug.SetGCPercent(gcState.percent)
			debug.SetMemoryLimit(gcState.memory.Load())
			runtime.GOMAXPROCS(gcState.procs)
		}
	}
}

// bestNice is the least nice value (sched(7)).
const bestNice = -20

// raisePriority sets the best nice value for ordinary threads during a collection: with five threads per CPU, 20 ms of
// work would take 100 to 250. Children start as usual (SCHED_FLAG_RESET_ON_FORK). Without CAP_SYS_NICE nothing changes.
func raisePriority() (undo func()) {
	was := map[int]*unix.SchedAttr{}
	tids, _ := procmem.ListTasks(os.Getpid(), nil)
	for _, tid := range tids {
		a, err := unix.SchedGetAttr(tid, 0)
		if err != nil || a.Policy != unix.SCHED_NORMAL || a.Nice <= bestNice {
			continue
		}
		best := *a
		best.Size, best.Nice, best.Flags = unix.SizeofSchedAttr, bestNice, a.Flags|unix.SCHED_FLAG_RESET_ON_FORK
		if unix.SchedSetAttr(tid, &best, 0) == nil {
			was[tid] = a
		}
	}
	return func() {
		for tid, a := range was {
			if unix.Tgkill(os.Getpid(), tid, 0) == nil { // else the ID may be reused
				a.Size = unix.SizeofSchedAttr
				_ = unix.SchedSetAttr(tid, a, 0)
			}
		}
	}
}

// CPUTimeOf returns f's CPU time.
func CPUTimeOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := CPUTime()
	f()
	return CPUTime() - began
}

// CPUTime returns this OS thread's CPU time.
func CPUTime() time.Duration { return time.Duration(procmem.ThreadCPU()) }
