// SPDX-License-Identifier: Apache-2.0

package target

import (
	"time"

	"prywalk/internal/account/attribute"
	"prywalk/internal/account/runstats"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
)

// # Engines
//
// An engine observes running threads in place of stops.
//
// Package tracer tracks processes and threads, reads their clocks and observes those that sleep. An engine ([Engine])
// is called at each tick, and its parts of a process ([ProcessPart]) and of a thread ([ThreadPart]) around each
// observation. It adds its observations to the same outbox ([SharedState]), and calls the tracer as [EngineHost].
//
// Calls of a tick:
//
//	SetRate                              before each tick
//	BeginTick                            once, not of a missed tick; after a withheld one only DrainIfDue follows
//	DrainAll                             after the new threads of processes that are stopped
//	for each thread that is observed:
//	    BeforeObservation
//	    ClocksRead                       if unchanged or observed; then AfterObservation, if observed
//	    or FoundRunning                  if running and not stopped
//	EndTick
//
// A pending stop ends in any wait of the tracer: ClocksRead and AfterObservation, or Ended, then come outside of this
// order. So may TrackThread and Ended in a withheld tick.
//
// A running thread is stopped unless the engine has called [Thread.ExemptFromStops]. Samples of a tracked thread go to
// [SharedState.AddEngineSample], others to [SharedState.AddUnassignedSample]. FoundRunning passes the thread's clocks
// to Backoff.RecordObservation. At and Sched of a tracked thread's samples are placed between two readings of its
// clocks ([sample.Reading.Between]), in order of time, none before [EngineHost].GapEnd. A run has one engine.
//
// To add an engine, read the source of samples in a package of its own (as perfevents); make raw samples of it
// (sampled.go of package observe); implement [Engine] (as perfengine); choose it for a process, and leave it where too
// many stacks are incomplete (modechooser.go of perfengine). It also has
//
//   - a name in Observed.Engine of package runstats, and in its texts, which ignore others
//   - a value of observe.How: the aggregator asks for ByKernelSample, and so does FromKernel of package attribute
//   - a value of --engine (engine.go of the command), and rows in the test of layers
//
// [SampleLack] is of the kernel's samples.

// EngineSource makes an engine, and holds what it needs before and after the recording.
type EngineSource interface {
	Start(*SharedState, EngineHost, *SamplingOptions) Engine
	// Period returns the CPU time between two observations of a thread; 0 if it observes none.
	Period() time.Duration
	// FromStart reports whether each thread is observed from its first instruction on.
	FromStart() bool
	Close()
}

// EngineLauncher is an EngineSource that can observe a command, and what it creates, from the first instruction on.
type EngineLauncher interface {
	// BeforeLaunch is called before Start with the thread that will create the command.
	BeforeLaunch(parent int)
}

// Engine observes running threads in place of stops, on the tracer's goroutine. It may implement [EngineHolder] and
// [EngineEnder].
type Engine interface {
	// Track returns nil if all running threads of the process are to be stopped.
	Track(*Process) ProcessPart
	// SetRate requests hz observations per second of a running thread.
	SetRate(now monotonic.Moment, hz float64)
	// BeginTick chooses the processes to observe, unless the tick is withheld, and reports the CPU time of untracked
	// children that have ended.
	BeginTick(now monotonic.Moment, withheld bool)
	// DrainAll takes the observations since the last call.
	DrainAll(now monotonic.Moment)
	// DrainIfDue takes the observations, as DrainAll does, if the buffers may be full soon. It reports whether the engine
	// has buffers: then it must be called every few milliseconds.
	DrainIfDue() (buffers bool)
	EndTick()
	Stats(*runstats.Observed)
}

// EngineHolder is an engine that can be suspended.
type EngineHolder interface {
	// Hold stops all observations until Resume.
	Hold()
	Resume(now monotonic.Moment)
}

// EngineEnder is an engine that takes part in the end of a recording.
type EngineEnder interface {
	BeforeLastTick(now monotonic.Moment)
	// End follows ProcessPart.Ended of all processes.
	End()
}

// EngineHost is the tracer.
type EngineHost interface {
	// RecordObservation records that all running threads are observed, so that no gap begins.
	RecordObservation(now monotonic.Moment)
	// GapEnd returns the end of the last gap.
	GapEnd() monotonic.Moment
	ReadClocks(now monotonic.Moment)
	// ReadTargetCPU reads the clocks that are due, and returns the CPU time of tracked processes.
	ReadTargetCPU(now monotonic.Moment) time.Duration
	// HasObservation reports whether a stop or a passive read has observed a thread so far.
	HasObservation() bool
}

// SharedState is shared by the tracer and an engine in one recording. It belongs to the tracer's goroutine.
type SharedState struct {
	*Common
	Observer      *observe.Observer // of the tracer's OS thread
	Files         *procmem.FDBudget
	Backoff       *Backoffs // decides which sleepers are not observed
	Out           Outbox
	Tick          Tick
	Ending        bool
	EngineSamples int64
	Unassigned    int64         // of untracked threads and processes
	ChildCPU      time.Duration // CPU time that samples of untracked children stand for
}

// AddSample adds an event with a raw sample, and counts its copy.
func (s *SharedState) AddSample(e Event) {
	s.Tick.Copies += e.RawSample.BeginWaiting()
	s.Out.Add(e)
}

// AddEngineSample adds a sample of a tracked thread.
func (s *SharedState) AddEngineSample(e Event) {
	s.EngineSamples++
	e.StandsFor = e.RawSample.StandsFor
	s.AddSample(e)
}

// AddUnassignedSample adds a sample of an untracked thread of e.Proc, or of an untracked child.
func (s *SharedState) AddUnassignedSample(e Event, ofChild bool) {
	s.Unassigned++
	raw := e.RawSample
	if ofChild {
		s.ChildCPU += raw.StandsFor
	}
	e.What = &attribute.UnassignedSample{
		Process: e.Proc.ID, Place: attribute.Place{State: sample.Running}, StandsFor: int64(raw.StandsFor), At: int64(raw.At),
		OfChild: ofChild,
	}
	s.AddEngineSample(e)
}

// Tick is the present tick. The tracer sets it.
type Tick struct {
	Number    int64 // ticks so far, without withheld and missed ones
	At        monotonic.Moment
	Period    time.Duration // mean distance of ticks
	StandsFor time.Duration // of an observation; T in package attribute
	Copies    int64         // bytes of stack
}

// ProcessPart is the part of a process that an engine makes.
type ProcessPart interface {
	// Observes reports whether the engine, not stops, observes its running threads.
	Observes() bool
	TrackThread(*Thread) ThreadPart
	// Ended is called after the end of all threads.
	Ended()
}

// ThreadPart is an engine's part of a thread. The tracer calls it around each observation.
type ThreadPart interface {
	BeforeObservation()
	ClocksRead(now sample.Reading)
	// FoundRunning is called where the observation leaves a running thread to the engine, without a stop.
	FoundRunning()
	// AfterObservation completes the raw sample of a stop or a passive read before it is reported.
	AfterObservation(*observe.RawSample)
	// alive means that the recording ends before the thread, or its clocks go on under another number (it has called
	// exec).
	Ended(alive bool)
}
