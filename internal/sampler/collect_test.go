package sampler

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestCollectionWaitsForLooksUnderWayAndNoLooksAreBegun(t *testing.T) {
	g := newCollector()
	g.limit.Store(1) // there is always as much
	if g.draining(1) {
		t.Fatal("nobody has asked")
	}
	g.collect(1, 0) // does nothing
	g.measure(100e6)
	if !g.draining(200e6) {
		t.Fatal("not asked for, with the heap above the limit")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.collect(300e6, 1)
	runtime.ReadMemStats(&after)
	if after.NumForcedGC != before.NumForcedGC || !g.draining(300e6) {
		t.Error("collected while a look was under way")
	}
	g.collect(310e6, 0)
	runtime.ReadMemStats(&after)
	if after.NumForcedGC != before.NumForcedGC+1 || g.draining(320e6) {
		t.Errorf("%d collections, still asked for: %v", after.NumForcedGC-before.NumForcedGC, g.want.Load())
	}
	if g.limit.Load() < leastHeap {
		t.Errorf("limit %d", g.limit.Load())
	}
	// A look that does not end holds nothing up for ever.
	g.limit.Store(1)
	g.measure(1e9)
	g.draining(1e9)
	g.collect(1e9+drainFor, 1)
	if g.draining(6e9) {
		t.Error("still waiting")
	}
}

func TestRuntimeCollectsByItselfAgainAfterTheLastRun(t *testing.T) {
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	procs := runtime.GOMAXPROCS(0)
	one, two := keepQuiet(), keepQuiet()
	if now := runtime.GOMAXPROCS(0); now != procs+1 {
		t.Errorf("%d processors, not %d", now, procs+1)
	}
	one()
	if p := debug.SetGCPercent(-1); p != -1 {
		t.Errorf("GOGC is %d while one samples", p)
	}
	two()
	if p := debug.SetGCPercent(100); p != 100 || runtime.GOMAXPROCS(0) != procs {
		t.Errorf("GOGC is %d afterwards, with %d processors", p, runtime.GOMAXPROCS(0))
	}
}

func TestGarbageIsCollectedSoonerWhereMemoryIsScarce(t *testing.T) {
	const mb = 1 << 20
	for _, c := range [][3]int64{{1, 512, 32}, {100, 512, 200}, {180, 512, 360}, {300, 512, 384}, {500, 512, 532}, {300, 0, 600}} {
		if got := nextAt(c[0]*mb, c[1]*mb); got != c[2]*mb {
			t.Errorf("%d MB left of %d: next at %d, not %d", c[0], c[1], got/mb, c[2])
		}
	}
}

// TestGarbageIsCollectedInALongRun: the recording of many stacks is made while the
// runtime does not collect by itself.
func TestGarbageIsCollectedInALongRun(t *testing.T) {
	target := start(t, "mixed", "20")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var keep [][]byte
	record(t, Options{Freq: 499}, 500*time.Millisecond, func(*Sampler) {
		for range 40 { // as a page of names would
			keep = append(keep, make([]byte, 2<<20))
		}
		await(t, fmt.Sprintf("a collection with %d MB more", len(keep)*2), func() bool {
			runtime.ReadMemStats(&after)
			return after.NumForcedGC > before.NumForcedGC
		})
	}, target.pid)
}
