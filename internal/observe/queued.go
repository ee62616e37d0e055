// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

// # Queued threads
//
// A queued thread stops late; by then a CPU quota may hold up the tracer.

const maxQueued = 4e9 // ns after which a queued thread is stopped in any case

// StopOnlyOnCPU limits stops to threads on a CPU, if the kernel shows that, those found queued for 4 s, and, if
// preempted is true, those that the tracer preempted.
func (o *Observer) StopOnlyOnCPU(preempted bool) {
	o.stopsOnlyOnCPU, o.stopsPreempted = true, preempted
}

// Precondition: the clocks are read.
func (o *Observer) beginSample(t *Thread) {
	t.skid.BeginSample(o.preemption.wake().At, t.clocks.last.Runs, o.stopsOnlyOnCPU && !o.stopsPreempted)
}

func (o *Observer) deferUntilOnCPU(t *Thread) bool {
	if !o.stopsOnlyOnCPU {
		return false
	}
	if !o.waitsForCPU(t) {
		return false
	}
	if o.stopsPreempted && t.skid.Basis() != sample.FewCalls && o.preemption.checkAwaitsTracer(t) {
		if _, ok := t.skid.Preempted(); ok {
			return false
		}
	}
	now := procmem.Now()
	if t.stops.queuedSince == 0 {
		t.stops.queuedSince = now
	}
	return now-t.stops.queuedSince < maxQueued
}

func (o *Observer) waitsForCPU(t *Thread) bool {
	on, known := t.files.OnCPU()
	return known && !on
}
