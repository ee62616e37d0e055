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
	// leastPause is the least expected length of a stop, in ns.
	leastPause = 10e3
	// pauseFades is the decay of an estimate above the limit: by 1/pauseFades per skipped stop, so that the thread is
	// tried again.
	pauseFades = 256
)

// pauseLimit skips stops that are expected to exceed the user's limit. The estimate is the moving mean of the thread's
// stops, or of all before its first.
type pauseLimit struct {
	limit int64 // ns; 0 if there is none
	usual int64 // moving mean of all stops, ns; 0 before the first
}

// LimitPause makes the observer omit stops that are expected to take longer than d ([refusal.MaxPause]). 0
// means no limit.
func (o *Observer) LimitPause(d time.Duration) { o.pause.limit = int64(d) }

// admitStop reports whether a stop is expected to be short enough. Each refusal lowers the expectation a little, so
// that the thread is tried again.
func (p *pauseLimit) admitStop(t *Thread) bool {
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
	t.expectedPause = max(t.expectedPause-t.expectedPause/pauseFades-1, leastPause)
	return false
}

func (p *pauseLimit) noteStop(t *Thread, ns int64) {
	t.expectedPause = movingMean(t.expectedPause, ns)
	p.usual = movingMean(p.usual, ns)
}

func movingMean(mean, ns int64) int64 {
	if mean == 0 {
		return max(ns, leastPause)
	}
	return max(mean+(ns-mean)/8, leastPause)
}

// # Queued threads
//
// A queued thread stops when it gets a processor, on a busy machine tens of milliseconds later; a tracer under a CPU
// quota may be held up by then. So, with [Observer.OnlyOnProcessors], only threads on a processor are stopped
// ([procmem.ThreadFiles.OnProcessor]): processor time is attributed by these. The exception is the thread that the
// tracer has preempted, if it makes many system calls (package skid).

// queuedFor is how long a thread may be found queued before it is stopped anyway, in ns.
const queuedFor = 4e9

// OnlyOnProcessors makes the observer stop only threads on a processor, or not found there for 4 s, where that is
// known.
func (o *Observer) OnlyOnProcessors() { o.onlyOnProcessors = true }

func (o *Observer) waitsForProcessor(t *Thread) bool {
	if !o.onlyOnProcessors {
		return false
	}
	if on, known := t.files.OnProcessor(); on || !known {
		return false
	}
	if t.skid.Basis() != sample.FewCalls && o.awaitsTracer(t) {
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
