// SPDX-License-Identifier: Apache-2.0

package target

import (
	"prywalk/internal/base/sample"
	"prywalk/internal/watch/observe"
)

// ProcessPart is the part of a process that an engine makes (package engine).
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
	// alive: the recording ends before the thread, or its clocks go on under another number (it has called exec).
	Ended(alive bool)
}
