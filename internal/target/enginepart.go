// SPDX-License-Identifier: Apache-2.0

package target

import (
	"prywalk/internal/attribute"
	"prywalk/internal/observe"
	"prywalk/internal/sample"
)

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
