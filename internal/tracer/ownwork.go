// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"runtime"

	"prywalk/internal/selfruntime"
)

// ownWork measures the CPU time of the tracer between two ticks. Meanwhile no target runs on its CPU: so threads are on
// CPUs more often at ticks than on average, and an observation of a thread that began within the recording stands for
// less time.
type ownWork struct {
	lastWanted int64   // last tick with a stop of a thread that began within the recording
	measuredAt int64   // the last tick, CLOCK_MONOTONIC ns; 0: not measured
	cpuThen    int64   // the tracer's CPU time at it, ns
	distance   int64   // time between the last two ticks, ns
	workPart   float64 // part of distance that is the tracer's work
}

// wantedFor is the number of ticks after lastWanted at which the measurement ends.
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

// noteStop notes a stop, at a tick, of a thread that began within the recording. It returns the part of an interval
// that all CPUs together had no time for the targets, as the tracer worked on one, and such threads were stopped.
// stopTime is the length of the stop, period the mean distance of ticks, ns.
func (o *ownWork) noteStop(tick, stopTime, period int64) (lostPart float64) {
	o.lastWanted = tick
	cpus := float64(runtime.NumCPU())
	stopped := float64(stopTime) / float64(max(o.distance, period))
	return min((o.workPart+(cpus-1)*stopped)/cpus, 0.5)
}
