// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"prywalk/internal/attribute"
	"prywalk/internal/observe"
	"prywalk/internal/pace"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/internal/target"
)

// SharedState is shared by the tracer and an engine in one recording. It belongs to the tracer's goroutine.
type SharedState struct {
	*target.Common
	Observer      *observe.Observer // of the tracer's OS thread
	Files         *procmem.FDBudget
	Backoff       *pace.Policy[*target.Thread] // decides which sleepers are not observed
	Out           target.Outbox
	Tick          Tick
	Ending        bool
	EngineSamples int64
	Unassigned    int64 // of untracked threads and processes
}

// AddSample adds an event with a raw sample, and counts its copy.
func (s *SharedState) AddSample(e target.Event) {
	s.Tick.Copies += e.RawSample.BeginWaiting()
	s.Out.Add(e)
}

// AddEngineSample adds a sample of a tracked thread.
func (s *SharedState) AddEngineSample(e target.Event) {
	s.EngineSamples++
	e.StandsFor = e.RawSample.StandsFor
	s.AddSample(e)
}

// AddUnassignedSample adds a sample of an untracked thread of e.Proc, or of an untracked child.
func (s *SharedState) AddUnassignedSample(e target.Event, ofChild bool) {
	s.Unassigned++
	raw := e.RawSample
	e.What = &attribute.UnassignedSample{
		Process: e.Proc.ID, Place: attribute.Place{State: sample.Running}, StandsFor: raw.StandsFor, At: raw.At,
		OfChild: ofChild,
	}
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
