// SPDX-License-Identifier: Apache-2.0

package procmem

import "prywalk/internal/sample"

// SchedStat is /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst). While the thread is on a processor, it
// changes at the kernel's ticks only.
type SchedStat struct {
	// CPU is the time on processors, in ns.
	CPU uint64
	// RunQueue is the time queued for a processor, in ns. It grows when the thread arrives on one.
	RunQueue uint64
	// Runs is the number of arrivals on a processor.
	Runs uint64
}

// ReadingAt gives the clocks as a reading at a moment (CLOCK_MONOTONIC, ns).
func ReadingAt(s SchedStat, at int64) sample.Reading {
	return sample.Reading{Wall: at, CPU: int64(s.CPU), RunQueue: int64(s.RunQueue)}
}

// ParseSchedStat parses schedstat. Without CONFIG_SCHED_INFO all values are zero. Error: [ErrFormat].
func ParseSchedStat(b []byte) (SchedStat, error) {
	c := cursor{b: b}
	s := SchedStat{CPU: c.uint(), RunQueue: c.uint(), Runs: c.uint()}
	if c.bad {
		return SchedStat{}, ErrFormat
	}
	return s, nil
}
