// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

const (
	// firstPause is the expected length of a first stop, in ns.
	firstPause = 30e3
	// minPause is the least expected length of a stop, in ns.
	minPause = 10e3
	// pauseFades is the decay of an estimate above the limit: by 1/pauseFades per skipped stop, so that the thread is
	// tried again.
	pauseFades = 256
)

// pauseLimit skips stops that are expected to exceed the user's limit. The estimate is the moving mean of the thread's
// stops, before its first that of all stops.
type pauseLimit struct {
	limit int64 // ns; 0 if there is none
	usual int64 // moving mean of all stops, ns; 0 before the first
}

// LimitPause skips stops that are expected to take longer than d ([refusal.MaxPause]); 0 means no limit.
func (o *Observer) LimitPause(d time.Duration) { o.pause.limit = int64(d) }

// tryAdmitStop reports whether a stop is expected to be short enough. A refusal lowers the estimate a little.
func (p *pauseLimit) tryAdmitStop(t *Thread) bool {
	if p.limit <= 0 {
		return true
	}
	if t.expectedPause == 0 {
		t.expectedPause = p.usual
		if p.usual == 0 {
			t.expectedPause = firstPause
		}
	}
	if t.expectedPause <= p.limit {
		return true
	}
	t.expectedPause = max(t.expectedPause-t.expectedPause/pauseFades-1, minPause)
	return false
}

func (p *pauseLimit) noteStop(t *Thread, ns int64) {
	t.expectedPause = movingMean(t.expectedPause, ns)
	p.usual = movingMean(p.usual, ns)
}

func movingMean(mean, ns int64) int64 {
	if mean == 0 {
		return max(ns, minPause)
	}
	return max(mean+(ns-mean)/8, minPause)
}

// # Queued threads
//
// A queued thread stops when it gets a CPU, on a busy machine tens of milliseconds later; by then a CPU quota may hold
// up the tracer. So, with [Observer.StopOnlyOnCPU], only threads on a CPU are stopped
// ([procmem.ThreadFiles.OnProcessor]), and CPU time is attributed by these. The exception is a thread with many system
// calls that the tracer has preempted (package skid).

// queuedFor is how long a queued thread is not stopped, in ns.
const queuedFor = 4e9

// StopOnlyOnCPU limits stops to threads on a CPU, and those not found there for 4 s, where that is known.
func (o *Observer) StopOnlyOnCPU() { o.stopsOnlyOnCPU = true }

func (o *Observer) deferUntilOnCPU(t *Thread) bool {
	if !o.stopsOnlyOnCPU {
		return false
	}
	if on, known := t.files.OnProcessor(); on || !known {
		return false
	}
	if t.skid.Basis() != sample.FewCalls && o.checkAwaitsTracer(t) {
		if _, ok := t.skid.Preempted(); ok {
			return false
		}
	}
	now := procmem.Now()
	if t.queuedSince == 0 {
		t.queuedSince = now
	}
	return now-t.queuedSince < queuedFor
}
