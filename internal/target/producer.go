// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	"prywalk/internal/attribute"
	"prywalk/internal/observe"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
)

// Producer observes threads and reports them as events. It sends batches to [Common.Queue]:
//   - ProcessStarted is the first event of a process, ProcessEnded the last but those of its children; a process that
//     ended before it was tracked has only the latter. ThreadEnded is the last of a thread, before that of its process.
//     The producer numbers both ([Process.ID], [Thread.ID]), from 1.
//   - The events of a thread are in order of time. A sample has a raw sample from [Common.Pool]: registers, a copy of
//     the stack and the thread's clocks, all of one moment.
//   - It never waits for the aggregator while a thread is stopped: without [BatchQueue.HasRoom] it observes less.
//
// internal/sampler/toyengine_test.go has a toy.
type Producer interface {
	// Run observes until ctx ends or nothing is left, and closes the queue. After a failure it calls stop.
	Run(ctx context.Context, stop func())
	// Stats adds the producer's counts. It is called once, after Run or while Run hangs.
	Stats(*runstats.Stats)
}

// ProcessPart is the part of a process that an engine makes (package engine).
type ProcessPart interface {
	// Observes reports whether the engine, not stops, observes its running threads.
	Observes() bool
	// ReportsChildTimes reports whether the engine reports all CPU time of its untracked descendants, also after its end
	// ([attribute.ChildCounted]).
	ReportsChildTimes() bool
	TrackThread(*Thread) ThreadPart
	// Ended completes the report of the end. All threads have ended before.
	Ended(*attribute.ProcessEnd)
}

// ThreadPart is an engine's part of a thread. The tracer calls it around each observation.
type ThreadPart interface {
	BeforeObservation()
	ClocksRead(now sample.Reading)
	// The thread is not stopped.
	FoundRunning()
	// AfterObservation completes the raw sample of a stop or a passive read before it is reported.
	AfterObservation(*observe.RawSample)
	// alive: the recording ends before the thread, or its clocks go on under another number (it has called exec).
	Ended(alive bool)
}
