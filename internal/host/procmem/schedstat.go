// SPDX-License-Identifier: Apache-2.0

package procmem

import "prywalk/internal/base/sample"

// SchedStat is /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst). While the thread is on a CPU, it changes
// at the kernel's ticks only.
type SchedStat struct {
	CPU      uint64 // ns
	RunQueue uint64 // ns; grows when the thread arrives on a CPU
	Runs     uint64 // arrivals on a CPU
}

// ReadingAt converts the clocks; at is CLOCK_MONOTONIC, ns.
func ReadingAt(s SchedStat, at int64) sample.Reading {
	return sample.Reading{Wall: at, CPU: int64(s.CPU), RunQueue: int64(s.RunQueue)}
}

// ParseSchedStat returns zeros without CONFIG_SCHED_INFO. Error: [errFormat].
func ParseSchedStat(b []byte) (SchedStat, error) {
	c := Cursor{Text: b}
	s := SchedStat{CPU: c.Uint(), RunQueue: c.Uint(), Runs: c.Uint()}
	if c.Bad {
		return SchedStat{}, errFormat
	}
	return s, nil
}
