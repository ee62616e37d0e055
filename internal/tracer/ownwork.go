// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"runtime"

	"prywalk/internal/selfruntime"
)

// ownWork measures the tracer's CPU time between two ticks, in which no target runs on its CPU. So an observation of a
// thread that began within the recording stands for less time.
type ownWork struct {
	lastWanted int64 // last tick with a stop of such a thread
	measuredAt int64 // CLOCK_MONOTONIC ns; 0: none
	cpuThen    int64 // ns
	distance   int64 // ns
	workPart   float64
}

// Ticks after lastWanted for which the work is measured.
const wantedFor = 100

func (o *ownWork) measure(tick, now int64) {
	if tick-o.lastWanted > wantedFor {
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

// noteStop returns the part of an interval for which the tracer's work on one CPU, and the stop on the others, took
// time from the targets. Times are in ns.
func (o *ownWork) noteStop(tick, stopTime, period int64) (lostPart float64) {
	o.lastWanted = tick
	cpus := float64(runtime.NumCPU())
	stopped := float64(stopTime) / float64(max(o.distance, period))
	return min((o.workPart+(cpus-1)*stopped)/cpus, 0.5)
}
