// SPDX-License-Identifier: Apache-2.0

package procmem

import "prywalk/internal/sample"

// SchedStat is what the scheduler counts for a thread (/proc/PID/schedstat,
// kernel Documentation/scheduler/sched-stats.rst). The values stand still while
// the thread runs, from one scheduler tick to the next, and are exact while it is
// off the processor.
type SchedStat struct {
	// CPU is the time on a processor, in nanoseconds.
	CPU uint64
	// RunQueue is the time spent queued for a processor, in nanoseconds; booked
	// when the thread arrives on one.
	RunQueue uint64
	// Runs is the number of times that it arrived on a processor.
	Runs uint64
}

// ReadingAt gives the clocks as those of a moment, CLOCK_MONOTONIC in nanoseconds.
func ReadingAt(s SchedStat, at int64) sample.Reading {
	return sample.Reading{Wall: at, CPU: int64(s.CPU), RunQueue: int64(s.RunQueue)}
}

// ParseSchedStat reads the three numbers of a schedstat file. A kernel built
// without scheduler statistics shows zeros. Error: [ErrFormat].
func ParseSchedStat(b []byte) (SchedStat, error) {
	c := cursor{b: b}
	s := SchedStat{CPU: c.uint(), RunQueue: c.uint(), Runs: c.uint()}
	if c.bad {
		return SchedStat{}, ErrFormat
	}
	return s, nil
}
