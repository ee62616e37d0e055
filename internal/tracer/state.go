// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"iter"
	"slices"

	"prywalk/internal/backoff"
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/procmem"
	"prywalk/internal/schedule"
)

// state is shared by the parts of the tracer. It belongs to the tracer's goroutine.
type state struct {
	engine.SharedState
	opts   Options
	pace   *pace
	procs  []*process
	gaps   schedule.GapDetector
	counts *counts
}

func newState(o Options, with *handover.Common, start int64) *state {
	s := &state{
		SharedState: engine.SharedState{
			Common: with, Files: procmem.NewFDBudget(FileReserve), Backoff: backoff.New(uint64(start)),
			Out: handover.NewOutbox(with.Queue),
		},
		opts:   o,
		counts: &counts{},
	}
	s.pace = newPace(&s.SharedState, &s.opts, start)
	return s
}

func (s *state) threads() iter.Seq[*thread] {
	return func(yield func(*thread) bool) {
		for _, p := range s.procs {
			for _, th := range p.list.inOrder {
				if !th.gone && !yield(th) {
					return
				}
			}
		}
	}
}

// thread returns a thread by its IDs, or nil.
func (s *state) thread(pid, tid int) *thread {
	for _, p := range s.procs {
		if p.Target.PID == pid {
			return p.list.byTID[tid]
		}
	}
	return nil
}

func (s *state) allEnded() bool {
	return !slices.ContainsFunc(s.procs, func(p *process) bool { return !p.Gone })
}
