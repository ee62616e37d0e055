// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestCollectionWaitsForSamplesInProgressAndDelaysNewOnes(t *testing.T) {
	g := NewCollector()
	g.limit.Store(1)
	if g.Draining(1) {
		t.Fatal("Draining is true without a request")
	}
	g.Collect(1, 0)
	g.Measure(100e6)
	if !g.Draining(200e6) {
		t.Fatal("Draining is false with the heap above the limit")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.Collect(300e6, 1)
	runtime.ReadMemStats(&after)
	if after.NumForcedGC != before.NumForcedGC || !g.Draining(300e6) {
		t.Error("a collection ran during a sample, or Draining is false before it")
	}
	g.Collect(310e6, 0)
	runtime.ReadMemStats(&after)
	if after.NumForcedGC != before.NumForcedGC+1 || g.Draining(320e6) {
		t.Errorf("%d collections, still requested: %v; want one", after.NumForcedGC-before.NumForcedGC, g.want.Load())
	}
	if g.limit.Load() < minHeap {
		t.Errorf("limit %d, want at least %d", g.limit.Load(), int64(minHeap))
	}
	g.limit.Store(1)
	g.Measure(1e9)
	g.Draining(1e9)
	g.Collect(1e9+DrainFor, 1)
	if g.Draining(6e9) {
		t.Error("Draining is still true after the longest wait")
	}
}

func TestCollectorForLowMemoryReturnsIt(t *testing.T) {
	defer DisableAutoGC(true)()
	g := NewCollector()
	g.LowMemory = true
	much := make([][]byte, 64)
	for i := range much {
		much[i] = make([]byte, 1<<20)
	}
	runtime.KeepAlive(much)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.Request()
	g.Draining(1)
	g.Collect(1, 0)
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapReleased) - int64(before.HeapReleased); n < 48<<20 {
		t.Errorf("%d bytes were returned to the kernel, want at least 48 MiB", n)
	}
}

func TestRuntimeCollectsAutomaticallyAfterTheLastRun(t *testing.T) {
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	procs := runtime.GOMAXPROCS(0)
	one, two := DisableAutoGC(false), DisableAutoGC(false)
	if now := runtime.GOMAXPROCS(0); now != procs+tracerProcs {
		t.Errorf("GOMAXPROCS is %d, want %d", now, procs+tracerProcs)
	}
	one()
	if p := debug.SetGCPercent(-1); p != -1 {
		t.Errorf("GOGC is %d while sampling, want -1", p)
	}
	two()
	if p := debug.SetGCPercent(100); p != 100 || runtime.GOMAXPROCS(0) != procs {
		t.Errorf("GOGC is %d afterwards, GOMAXPROCS %d", p, runtime.GOMAXPROCS(0))
	}
}

func TestGarbageIsCollectedSoonerIfMemoryIsScarce(t *testing.T) {
	const mb = 1 << 20
	for _, c := range [][3]int64{{1, 512, 32}, {100, 512, 200}, {180, 512, 360}, {300, 512, 384}, {500, 512, 532},
		{300, 0, 600}} {
		if got := NewCollector().nextHeap(c[0]*mb, c[1]*mb); got != c[2]*mb {
			t.Errorf("%d MB left of %d: next collection at %d MB, want %d", c[0], c[1], got/mb, c[2])
		}
	}
	for left, want := range map[int64]int64{10: 32, 30: 38, 40: 50} {
		if got := (&Collector{LowMemory: true}).nextHeap(left*mb, 512*mb); got != want*mb {
			t.Errorf("low memory, %d MB left: next collection at %d MB, want %d", left, got/mb, want)
		}
	}
}
