// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"prywalk/internal/attribute"
	"prywalk/internal/observe"
	"prywalk/internal/sample"
)

// Kind is the kind of an event.
type Kind uint8

// The kinds of events.
const (
	Sampled           Kind = iota
	FoundUnchanged         // until now (at checkpoints)
	ThreadEnded            // or the recording ends
	EndedSoFar             // CPU time of ended threads so far
	ProcessEnded           // or the recording ends
	ProcessStarted         // sampled from now on
	Execed                 // Thread is the first of the new program
	Renamed                // the process, by its first thread
	CheckpointAsked        // of all before this event
	RefreshAsked           // of the sinks, with all before this event
	NotObservedFor         // no observation from At on, for Length
	SampledUnassigned      // of an ended or untracked thread, by the kernel
	ChildSampled           // of an untracked child, by the kernel or a tick
	ChildCounted           // of an untracked child, in one program
	ThreadStarted          // before the first sample
	Resumed                // after a suspension for Length until At
)

// Event is what a producer reports to the aggregator, or requests of it.
type Event struct {
	Kind            Kind
	Thread          *SharedThread
	Proc            *SharedProcess
	Caller          *SharedThread // for Execed: the ended thread that called it, if its clocks go on as those of Thread
	RawSample       *observe.RawSample
	Program         *Program // of a sampled process, if not that of Proc
	UnchangedBefore sample.Unchanged
	At              int64          // CLOCK_MONOTONIC, ns
	Reading         sample.Reading // for ThreadStarted
	// WalkAtOnce: the next sample needs the walk's hints, or the walk needs memory that may soon be gone.
	WalkAtOnce bool
	// Length, ns, is the time for which a sample stands, wall time of NotObservedFor and Resumed, and CPU time of
	// EndedSoFar and ChildCounted.
	Length int64
	// ChildState is for ChildSampled without a raw sample.
	ChildState attribute.ChildState
	// For ChildCounted, see [attribute.ChildCounted].
	AllCounted bool
	ChildEnded bool
	ThreadEnd  *ThreadEnd            // for ThreadEnded
	ProcessEnd *attribute.ProcessEnd // for ProcessEnded
}

// ThreadEnd is what the producer knows of a thread's end.
type ThreadEnd struct {
	attribute.End
	NotStopped sample.NotStopped // not reported yet
}
