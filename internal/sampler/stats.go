// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"cmp"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/handover"
	"prywalk/internal/procmem"
	"prywalk/internal/runstats"
	"prywalk/internal/tracer"
)

// stats gives what was done. It is for the end of a run.
func (s *Sampler) stats(e handover.Engine) (r runstats.Stats) {
	e.Stats(&r)
	s.acc.Stats(&r)
	measureSwitch(&r.CPU)
	r.Unopened = s.unopened.number()
	r.WhyEngine = cmp.Or(r.EngineNote, s.opts.NoEvents)
	if begun := s.control.Begun(); begun != 0 {
		r.Begun = time.Unix(0, s.acc.UnixOf(begun))
	}
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		r.SelfCPU = float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
	}
	return r
}

// Suspects gives the processes in which threads may be in a deadlock at the end of a run ([accountant.Accountant]).
func (s *Sampler) Suspects() []int { return s.acc.Suspects() }

// Progress is how far a run has come.
type Progress struct {
	tracer.Progress
	Stacks, Complete int64 // that were walked, and those of them that are whole
}

// Progress tells how far the run has come. Any goroutine may call it.
func (s *Sampler) Progress() Progress {
	p := Progress{Progress: s.control.Progress()}
	p.Stacks, p.Complete = s.acc.Stacks()
	return p
}

// Answer is what a run has counted since it began, as prywalk record answers to an order of who measures it.
type Answer struct {
	Ticks  int64 `json:"ticks"`
	Missed int64 `json:"missed_ticks"`
	Frozen int64 `json:"frozen"`
	// Calls are system calls of this process, Copied bytes that it has read of others' memory.
	Calls  int64 `json:"calls"`
	Copied int64 `json:"copied"`
}

// Answer gives it. Any goroutine may call it.
func (s *Sampler) Answer() Answer {
	p := s.control.Progress()
	return Answer{
		Ticks: p.Ticks, Missed: p.Missed, Frozen: p.Frozen, Calls: procmem.Calls(), Copied: procmem.Copied(),
	}
}
