// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"prywalk/internal/backoff"
	"prywalk/internal/handover"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
)

// SharedState is shared by the tracer and an engine in one recording. It belongs to the tracer's goroutine.
type SharedState struct {
	*handover.Common
	Observer      *observe.Observer // of the tracer's OS thread
	Files         *procmem.FDBudget
	Backoff       *backoff.Policy // decides which sleepers are not observed
	Out           handover.Outbox
	Tick          Tick
	Ending        bool
	EngineSamples int64
	Unassigned    int64 // of untracked threads and processes
}

// AddSample adds an event with a raw sample, and counts its copy.
func (s *SharedState) AddSample(e handover.Event) {
	s.Tick.Copies += e.RawSample.BeginWaiting()
	s.Out.Add(e)
}

// AddEngineSample adds a sample of a tracked thread ([handover.Sampled]).
func (s *SharedState) AddEngineSample(e handover.Event) {
	s.EngineSamples++
	e.StandsFor = e.RawSample.StandsFor
	s.AddSample(e)
}

// AddUnassignedSample adds a sample of an untracked thread ([handover.SampledUnassigned], [handover.ChildSampled]).
func (s *SharedState) AddUnassignedSample(e handover.Event) {
	s.Unassigned++
	s.AddEngineSample(e)
}

// Tick is the present tick. The tracer sets it.
type Tick struct {
	Number    int64 // ticks so far, without withheld and missed ones
	At        int64 // CLOCK_MONOTONIC ns
	Period    int64 // mean distance of ticks, ns
	StandsFor int64 // of an observation; T in package attribute, ns
	Copies    int64 // bytes of stack
}

// TrackedProcess is shared by tracer and engine.
type TrackedProcess struct {
	Target   *loadedcode.Process
	Handover *handover.SharedProcess
	TaskDir  *procmem.TaskDir // /proc/PID/task
	Clock    Clock
	Gone     bool // it has ended

	EnginePart     ProcessPart // nil if its running threads are stopped
	ThreadsChanged bool        // set by the engine
}

// Clock is a process's CPU time at its last reading.
type Clock struct {
	First     uint64 // when sampling began, ns
	Now       uint64 // ns
	ReadAt    int64  // tick, CLOCK_MONOTONIC ns
	Valid     bool
	ChangedAt int64 // CLOCK_MONOTONIC ns
}

// CPUTime returns the CPU time since sampling began, ns.
func (c *Clock) CPUTime() int64 { return int64(c.Now - c.First) }

// TrackedThread is shared by tracer and engine.
type TrackedThread struct {
	Handover   *handover.SharedThread
	Observed   *observe.Thread
	Backoff    backoff.ThreadState
	FromZero   bool       // its clocks count from zero within the recording
	EnginePart ThreadPart // nil if it is stopped when it runs
}

// ExemptFromStops makes the tracer not stop the thread while it runs and its stack has at most stackBytes. 0 ends the
// exemption.
func (t *TrackedThread) ExemptFromStops(stackBytes int) { t.Observed.SetKernelSampleStack(stackBytes) }
