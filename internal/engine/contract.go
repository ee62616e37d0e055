// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"prywalk/internal/attribute"
	"prywalk/internal/observe"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
)

// Source makes an engine, and holds what it needs from before the recording until after it.
type Source interface {
	Start(*SharedState, Host, Options) RunningObserver
	// Period gives the processor time between two observations of a thread, in nanoseconds; 0: it observes none.
	Period() int64
	// FromStart reports whether each thread is observed from its first instruction on.
	FromStart() bool
	// Launched passes the id of a command that is held before its exec.
	Launched(pid int)
	Close()
}

// Options say what is tracked.
type Options struct {
	Children bool // child processes, too
	Selected bool // of each process only some threads
}

// RunningObserver observes threads that run, in place of stops. Sleepers, clocks, creations, ends and attribution do
// not depend on it. All calls come from the tracer's goroutine. An engine may implement [Holder] and [Ender], too.
type RunningObserver interface {
	// Track is called for each new process. The result is nil if all of its running threads are to be stopped.
	Track(*Process) ProcessObserver
	// Coverage gives what is observed without stops at present.
	Coverage() Coverage
	// SetRate asks for hz observations a second of a running thread.
	SetRate(now int64, hz float64)
	// BeginTick chooses the processes whose running threads are observed, and reports the CPU time of children that
	// have ended without being tracked. If withheld, no thread is observed at this tick, and the choice stays.
	BeginTick(now int64, withheld bool)
	// TakeAll takes the observations since the last call.
	TakeAll(now int64)
	// DrainIfDue is TakeAll if buffers may soon be full. It returns false if there are none.
	DrainIfDue() (buffers bool)
	// EndTick is called when all threads of a tick were observed.
	EndTick()
	Stats(*runstats.Observed)
}

// Coverage is what an engine observes without stops.
type Coverage struct {
	Complete   bool // the running threads of all processes
	Children   bool // children that are not tracked yet
	ChildTimes bool // all CPU time of such children
}

// Holder is an engine that can be suspended.
type Holder interface {
	// Hold leaves all processes alone until Resume.
	Hold()
	Resume(now int64)
}

// Ender is an engine that takes part in the end of a recording.
type Ender interface {
	// BeforeLast is called before the last tick.
	BeforeLast(now int64)
	// End is called when all processes have ended.
	End()
}

// ProcessObserver is an engine's part of a process.
type ProcessObserver interface {
	// Observes reports whether the engine observes its running threads; else they are stopped.
	Observes() bool
	TrackThread(*Thread) ThreadObserver
	// Ended completes what is reported of the end. All threads have ended before.
	Ended(*attribute.ProcessEnd)
}

// ThreadObserver is an engine's part of a thread. It is called around each observation by the tracer.
type ThreadObserver interface {
	BeforeObservation()
	// ClocksRead takes the thread's clocks. asleep means that it sleeps by then.
	ClocksRead(now sample.Reading, asleep bool)
	// Runs notes that the thread runs, and is not stopped.
	Runs()
	// AfterObservation notes that the thread was observed by a stop or a passive read.
	AfterObservation(*observe.RawSample)
	// Ended is called before the end is reported. alive means that the thread goes on, and the recording ends.
	Ended(alive bool)
}

// Host is the tracer, as an engine uses it.
type Host interface {
	// NoteObserved notes that all running threads are observed at a moment, so that no gap begins.
	NoteObserved(now int64)
	// GapEnd gives when the last gap ended, CLOCK_MONOTONIC ns.
	GapEnd() int64
	// ReadClocks reads the clocks of all processes.
	ReadClocks(now int64)
	// Ran reads the clocks that are due, and gives the CPU time that the kernel has charged to the processes while they
	// were tracked, in nanoseconds.
	Ran(now int64) int64
	// Copied reports whether a thread was observed by a stop or a passive read so far.
	Copied() bool
}
