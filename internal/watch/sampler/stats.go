// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/account/runstats"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/watch/tracer"
)

func (s *Sampler) stats(t *tracer.Tracer) (stats runstats.Stats) {
	t.Stats(&stats)
	s.aggregator.Stats(&stats)
	setSwitchCost(&stats.CPU)
	stats.Unopened = s.unopened.count()
	stats.Refused = s.Refused()
	stats.EngineNote = cmp.Or(stats.FallbackNote, s.opts.WhyNoEngine)
	if begun := s.control.FirstTick(); begun != 0 {
		stats.Begun = time.Unix(0, s.aggregator.UnixOf(begun))
	}
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		stats.SelfCPU = float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
	}
	return stats
}

// PossibleDeadlocks returns the PIDs with possible deadlocks, at the end of a run.
func (s *Sampler) PossibleDeadlocks() []int { return s.aggregator.Suspects() }

// Progress is the progress of a run.
type Progress struct {
	tracer.Progress
	Stacks, Complete int64
}

// Progress is safe for concurrent use.
func (s *Sampler) Progress() Progress {
	p := Progress{Progress: s.control.Progress()}
	p.Stacks, p.Complete = s.aggregator.Stacks()
	return p
}

// Counts are since the start of a run.
type Counts struct {
	Ticks       int64 `json:"ticks"`
	MissedTicks int64 `json:"missed_ticks"`
	Stops       int64 `json:"stopped"`
	// Syscalls are the system calls that [procmem.Calls] counts, Copied bytes of other processes' memory.
	Syscalls int64 `json:"calls"`
	Copied   int64 `json:"copied"`
}

// Counts is safe for concurrent use.
func (s *Sampler) Counts() Counts {
	p := s.control.Progress()
	return Counts{
		Ticks: p.Ticks, MissedTicks: p.MissedTicks, Stops: p.Stops, Syscalls: procmem.Calls(), Copied: procmem.Copied(),
	}
}

const (
	timedSleeps = 100
	sleepTime   = 50 * time.Microsecond
	// maxSwitchCost is in ns. The cost is measured if switches may have minSwitchShare of the targets' CPU time.
	maxSwitchCost  = 50_000
	minSwitchShare = 0.02
)

// setSwitchCost sets the cost of a context switch, 0 unless samples miss many ends of runs: a sampling timer that is
// due while interrupts are off fires after the switch. The CPU time of a timed sleep is an upper bound.
func setSwitchCost(cpu *runstats.CPU) {
	cpu.SwitchCost = maxSwitchCost
	if cpu.Unsampled() < minSwitchShare {
		cpu.SwitchCost = 0
		return
	}
	cpu.SwitchCost = runstats.Nanos(measureSwitchCost())
}

func measureSwitchCost() time.Duration {
	costs := make([]time.Duration, timedSleeps)
	nap := unix.NsecToTimespec(int64(sleepTime))
	for i := range costs {
		costs[i] = selfruntime.CPUTimeOf(func() { _ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &nap, nil) })
	}
	slices.Sort(costs)
	return costs[timedSleeps/2]
}
