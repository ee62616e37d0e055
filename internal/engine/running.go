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
	Start(*Run, Host, Options) Running
	// Period gives the processor time between two observations of a thread, in nanoseconds; 0: it observes none.
	Period() int64
	// Whole reports whether each thread is observed from its first instruction on.
	Whole() bool
	// Launched notes a command that is held before its exec.
	Launched(pid int)
	Close()
}

// Options say what is tracked.
type Options struct {
	Children bool // child processes, too
	Selected bool // of each process only some threads
}

// Running observes threads that run, in place of stops. Sleepers, clocks, births, ends and attribution do not depend on
// it. All calls come from the tracer's goroutine.
type Running interface {
	Follower
	Observer

	// Choose chooses the processes whose running threads are observed; those of others are stopped.
	Choose()
	// Observes reports whether a process is chosen; Complete, whether all are; ShowsChildren, whether children that are
	// not attached are observed; CountsChildren, whether all of their CPU time is reported.
	Observes(*Process) bool
	Complete() bool
	ShowsChildren() bool
	CountsChildren() bool

	// TakeAll takes what has come since the last tick; DrainIfDue only if buffers may soon be full; AwaitDraining does
	// that until a channel is closed.
	TakeAll(now int64)
	DrainIfDue()
	AwaitDraining(<-chan struct{})
	// SetRate asks for so many observations a second of a running thread.
	SetRate(now int64, hz float64)
	// ReportChildren reports what children have used that have ended and were not attached.
	ReportChildren(now int64)
	// EndTick is called when all threads of a tick were observed.
	EndTick()

	// Hold leaves all processes alone until Resume.
	Hold()
	Resume(now int64)
	// BeforeLast is called before the last tick, EndChildren after it, End at the end of all.
	BeforeLast(now int64)
	EndChildren()
	End()
	Stats(*runstats.Observed)
}

// Follower keeps something for each process and thread that is tracked.
type Follower interface {
	ProcessAttached(*Process)
	ThreadAttached(*Process, *Thread)
	// ThreadEnded is called before the end is reported. alive: the thread goes on, and the recording ends.
	ThreadEnded(th *Thread, alive bool)
	// ProcessEnded completes what is reported of the end. All threads have ended before.
	ProcessEnded(*Process, *attribute.ProcessEnd)
}

// Observer is called around each observation of a thread by the tracer.
type Observer interface {
	BeforeObservation(*Thread)
	// ClocksRead takes the thread's clocks. asleep: it sleeps by then.
	ClocksRead(th *Thread, now sample.Reading, asleep bool)
	// Runs notes that the thread runs, and is not stopped.
	Runs(*Thread)
	// Observed notes that the thread was observed by a stop or a passive read.
	Observed(*Thread, *observe.RawSample)
}

// Host is the tracer, as an engine uses it.
type Host interface {
	// Observe notes that all that runs is observed at a moment, so that no gap begins; GapEnd gives when the last gap
	// ended, CLOCK_MONOTONIC ns.
	Observe(now int64)
	GapEnd() int64
	// ReadClocks reads the clocks of all processes, and Ran those that are due, and gives the processor time that the
	// kernel has charged to them while they were sampled, in nanoseconds.
	ReadClocks(now int64)
	Ran(now int64) int64
	// Copied reports whether a thread was observed by a stop or a passive read so far.
	Copied() bool
}
