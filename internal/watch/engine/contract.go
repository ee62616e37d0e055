// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"prywalk/internal/account/attribute"
	"prywalk/internal/account/runstats"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// Source makes an engine, and holds what it needs before and after the recording.
type Source interface {
	Start(*SharedState, Host, Options) Engine
	// Period returns the CPU time between two observations of a thread, ns; 0 if it observes none.
	Period() int64
	// FromStart reports whether each thread is observed from its first instruction on.
	FromStart() bool
	Close()
}

// Launcher is a Source that can observe a command, and what it creates, from the first instruction on.
type Launcher interface {
	// BeforeLaunch is called before Start with the thread that will create the command.
	BeforeLaunch(parent int)
}

// Options say what is tracked.
type Options struct {
	Children bool
	Selected bool // only some threads of a process
}

// Engine observes running threads in place of stops, on the tracer's goroutine. It may implement [Holder] and [Ender].
type Engine interface {
	// Track returns nil if all running threads of the process are to be stopped.
	Track(*target.Process) target.ProcessPart
	// SetRate requests hz observations per second of a running thread.
	SetRate(now int64, hz float64)
	// BeginTick chooses the processes to observe, unless the tick is withheld, and reports the CPU time of untracked
	// children that have ended.
	BeginTick(now int64, withheld bool)
	// DrainAll takes the observations since the last call.
	DrainAll(now int64)
	// DrainIfDue takes the observations, as DrainAll does, if the buffers may be full soon. It reports whether the engine
	// has buffers: then it must be called every few milliseconds.
	DrainIfDue() (buffers bool)
	EndTick()
	Stats(*runstats.Observed)
}

// Holder is an engine that can be suspended.
type Holder interface {
	// Hold stops all observations until Resume.
	Hold()
	Resume(now int64)
}

// Ender is an engine that takes part in the end of a recording.
type Ender interface {
	BeforeLastTick(now int64)
	// End follows target.ProcessPart.Ended of all processes.
	End()
}

// Host is the tracer.
type Host interface {
	// NoteObservation: all running threads are observed, so that no gap begins.
	NoteObservation(now int64)
	// GapEnd returns the end of the last gap, CLOCK_MONOTONIC ns.
	GapEnd() int64
	ReadClocks(now int64)
	// ReadTargetCPU reads the clocks that are due, and returns the CPU time of tracked processes, ns.
	ReadTargetCPU(now int64) int64
	// HasObservation reports whether a stop or a passive read has observed a thread so far.
	HasObservation() bool
}

// SharedState is shared by the tracer and an engine in one recording. It belongs to the tracer's goroutine.
type SharedState struct {
	*target.Common
	Observer      *observe.Observer // of the tracer's OS thread
	Files         *procmem.FDBudget
	Backoff       *target.Backoffs // decides which sleepers are not observed
	Out           target.Outbox
	Tick          Tick
	Ending        bool
	EngineSamples int64
	Unassigned    int64 // of untracked threads and processes
	ChildCPU      int64 // CPU time that samples of untracked children stand for, ns
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
	if ofChild {
		s.ChildCPU += raw.StandsFor
	}
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
