// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"prywalk/benchmarks/recordings"
)

type cpuSum struct {
	ProfileS float64 `json:"profile_s"`
	// ClockS is by the processes' clocks, TicksS by utime and stime of /proc/PID/stat, SchedS by schedstat of all
	// threads.
	ClockS float64 `json:"process_clock_s"`
	TicksS float64 `json:"stat_s"`
	SchedS float64 `json:"schedstat_s"`
	// AllowedS is 1 %, and one tick of 10 ms per thread.
	AllowedS float64 `json:"allowed_s"`
	// UnobservedS is the time under [ran between ticks], [not observed] and [exited unseen].
	UnobservedS float64 `json:"unobserved_s"`
	Threads     int64   `json:"threads"`
	// FirstObservationS is the time from the start to the first observation; CPU time in it is not in the profile.
	FirstObservationS float64 `json:"first_observation_s"`
}

// Off is the deviation from the processes' clocks, percent.
func (c *cpuSum) Off() float64 {
	if c.ClockS == 0 {
		return 0
	}
	return 100 * (c.ProfileS/c.ClockS - 1)
}

// OK reports whether no account of the kernel deviates by more than AllowedS.
func (c *cpuSum) OK() bool {
	for _, k := range []float64{c.ClockS, c.TicksS, c.SchedS} {
		if d := c.ProfileS - k; d > c.AllowedS || d < -c.AllowedS {
			return false
		}
	}
	return true
}

// Unobserved is UnobservedS ÷ ProfileS; 0 without CPU time.
func (c *cpuSum) Unobserved() float64 {
	if c.ProfileS == 0 {
		return 0
	}
	return c.UnobservedS / c.ProfileS
}

const userTick = 10 * time.Millisecond

func compareCPU(r *recording, m *meter) *cpuSum {
	from := time.Unix(0, r.TimeNanos)
	to := from.Add(time.Duration(r.DurationNanos))
	a, b := m.at(from), m.at(to)
	c := &cpuSum{
		ProfileS: seconds(r.total(recordings.CPUColumn)), Threads: max(r.stats.ThreadsMax, 1),
		ClockS: (b.clock - a.clock).Seconds(), TicksS: (b.ticks - a.ticks).Seconds(), SchedS: (b.sched - a.sched).Seconds(),
	}
	c.FirstObservationS = firstLook(r).Sub(from).Seconds()
	for _, s := range r.Sample {
		if recordings.Unobserved(s) {
			c.UnobservedS += seconds(s.Value[recordings.CPUColumn])
		}
	}
	c.AllowedS = c.ClockS/100 + float64(c.Threads)*userTick.Seconds()
	return c
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
