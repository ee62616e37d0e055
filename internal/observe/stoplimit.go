// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

const (
	firstStopTime = 30e3 // expected length of a first stop, ns
	minStopTime   = 10e3 // least expected length, ns
	// An estimate above the limit falls by 1/stopLimitDecay with each skipped stop, so that the thread is tried again.
	stopLimitDecay = 256
)

// stopLimit skips stops whose estimate, the moving mean of the thread's stops (at first of all), exceeds a limit.
type stopLimit struct {
	limit        int64 // ns, or 0
	meanStopTime int64 // moving mean of all stops, ns; 0 before the first
}

// LimitStops skips stops that are expected to take longer than d ([refusal.MaxPause]); 0 means no limit.
func (o *Observer) LimitStops(d time.Duration) { o.stopLimit.limit = int64(d) }

func (p *stopLimit) tryAdmitStop(t *Thread) bool {
	if p.limit <= 0 {
		return true
	}
	if t.expectedStopTime == 0 {
		t.expectedStopTime = p.meanStopTime
		if p.meanStopTime == 0 {
			t.expectedStopTime = firstStopTime
		}
	}
	if t.expectedStopTime <= p.limit {
		return true
	}
	t.expectedStopTime = max(t.expectedStopTime-t.expectedStopTime/stopLimitDecay-1, minStopTime)
	return false
}

func (p *stopLimit) noteStop(t *Thread, ns int64) {
	t.expectedStopTime = movingMean(t.expectedStopTime, ns)
	p.meanStopTime = movingMean(p.meanStopTime, ns)
}

func movingMean(mean, ns int64) int64 {
	if mean == 0 {
		return max(ns, minStopTime)
	}
	return max(mean+(ns-mean)/8, minStopTime)
}

// # Queued threads
//
// A queued thread stops when it gets a CPU, maybe tens of milliseconds later; by then a CPU quota may hold up the
// tracer. A thread with many system calls that the tracer has preempted is stopped all the same (package skid).

const maxQueued = 4e9 // ns

// StopOnlyOnCPU limits stops to threads on a CPU, where the kernel shows that, and those not stopped for 4 s since they
// were found queued.
func (o *Observer) StopOnlyOnCPU() { o.stopsOnlyOnCPU = true }

func (o *Observer) deferUntilOnCPU(t *Thread) bool {
	if !o.stopsOnlyOnCPU {
		return false
	}
	if on, known := t.files.OnCPU(); on || !known {
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
	return now-t.queuedSince < maxQueued
}
