// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"cmp"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/account/runstats"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/tracer"
)

func (s *Sampler) stats(t *tracer.Tracer) (stats runstats.Stats) {
	t.Stats(&stats)
	s.aggregator.Stats(&stats)
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
	Tracer           tracer.Progress
	Stacks, Complete int64
}

// Progress is safe for concurrent use.
func (s *Sampler) Progress() Progress {
	p := Progress{Tracer: s.control.Progress()}
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
