// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"runtime"

	"prywalk/internal/selfruntime"
)

// ownWork measures the CPU time of the tracer between two ticks. Meanwhile no target runs on its CPU: so threads are on
// CPUs more often at ticks than on average, and an observation of a new thread stands for less time.
type ownWork struct {
	lastNewThread int64   // last tick with a new thread
	measuredAt    int64   // the last tick, CLOCK_MONOTONIC ns; 0: not measured
	cpuThen       int64   // the tracer's CPU time at it, ns
	distance      int64   // time between the last two ticks, ns
	workPart      float64 // part of distance that is the tracer's work
}

// wantedFor is the number of ticks without a new thread until the measurement ends.
const wantedFor = 100

func (o *ownWork) measure(tick, now int64) {
	if tick-o.lastNewThread > wantedFor {
		o.measuredAt = 0
		o.distance = 0
		o.workPart = 0
		return
	}
	cpu := int64(selfruntime.CPUTime())
	if o.measuredAt != 0 && now > o.measuredAt {
		o.distance = now - o.measuredAt
		o.workPart = float64(cpu-o.cpuThen) / float64(o.distance)
	}
	o.measuredAt, o.cpuThen = now, cpu
}

// lostPart returns the part of an interval that all CPUs together had no time for the targets, as the tracer worked on
// one, and new threads were stopped. stopTime is the length of a new thread's stop, period the mean distance of ticks,
// ns.
func (o *ownWork) lostPart(tick, stopTime, period int64) float64 {
	o.lastNewThread = tick
	cpus := float64(runtime.NumCPU())
	stopped := float64(stopTime) / float64(max(o.distance, period))
	return min((o.workPart+(cpus-1)*stopped)/cpus, 0.5)
}
