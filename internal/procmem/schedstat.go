// SPDX-License-Identifier: Apache-2.0

package procmem

import "prywalk/internal/sample"

// SchedStat is /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst). On a processor it changes at
// ticks only.
type SchedStat struct {
	// CPU is the time on processors, ns.
	CPU uint64
	// RunQueue is the time queued, ns, charged at arrival.
	RunQueue uint64
	// Runs is the number of arrivals.
	Runs uint64
}

// ReadingAt gives the clocks as of at (CLOCK_MONOTONIC, ns).
func ReadingAt(s SchedStat, at int64) sample.Reading {
	return sample.Reading{Wall: at, CPU: int64(s.CPU), RunQueue: int64(s.RunQueue)}
}

// ParseSchedStat parses it; zeros without CONFIG_SCHED_INFO. Error: [ErrFormat].
func ParseSchedStat(b []byte) (SchedStat, error) {
	c := cursor{b: b}
	s := SchedStat{CPU: c.uint(), RunQueue: c.uint(), Runs: c.uint()}
	if c.bad {
		return SchedStat{}, ErrFormat
	}
	return s, nil
}
