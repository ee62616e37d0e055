// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/schedule"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// state is shared by the parts of the tracer. It belongs to the tracer's goroutine.
type state struct {
	engine.Run
	opts   Options
	ticks  *schedule.Ticks
	budget schedule.Budget
	quota  *schedule.Quota // nil: none, or the tracer's priority is above it
	cpus   *skid.CPUChooser
	now    tickState
	counts counts
}

// at is the present tick.
func (s *state) handOver(at int64) {
	ptrace.Pin() // a send wakes the aggregator on this processor
	defer ptrace.Unpin()
	s.Out.HandOver(at)
}

type tickState struct {
	apart   int64 // that an observation stands for, ns
	threads int
	first   int // another first thread in each process at each tick
	spins   int
	stays   int64 // since when the tracer has its processor, CLOCK_MONOTONIC ns
	paused  int64 // wait for the aggregator, ns
}
