// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"prywalk/internal/runstats"
	"prywalk/internal/target"
)

// Source makes an engine, and holds what it needs before and after the recording.
type Source interface {
	Start(*SharedState, Host, Options) Engine
	// Period returns the CPU time between two observations of a thread, ns; 0 if it observes none.
	Period() int64
	// FromStart reports whether each thread is observed from its first instruction on.
	FromStart() bool
	// Launched passes the ID of a command that is held before its exec.
	Launched(pid int)
	Close()
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
	Coverage() Coverage
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

// Coverage is what an engine observes without stops.
type Coverage struct {
	Complete bool // the running threads of all processes, but for deep stacks
	Children bool // untracked ones
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
	// PollStops finishes the stops of threads that have stopped, between the steps of a long call.
	PollStops()
	// HasObservation reports whether a stop or a passive read has observed a thread so far.
	HasObservation() bool
}
