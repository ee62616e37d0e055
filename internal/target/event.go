// SPDX-License-Identifier: Apache-2.0

package target

import (
	"prywalk/internal/attribute"
	"prywalk/internal/observe"
	"prywalk/internal/sample"
)

// Kind is the kind of an event.
type Kind uint8

// The kinds of events.
const (
	Sampled           Kind = iota // a raw sample
	FoundUnchanged                // the thread is unchanged until now (at checkpoints, refreshes, suspensions, execs)
	ThreadEnded                   // the thread or the recording ends
	EndedSoFar                    // CPU time of ended threads so far
	ProcessEnded                  // the process or the recording ends
	ProcessStarted                // the process is sampled from now on
	Execed                        // the process runs another program, whose first thread is Thread
	Renamed                       // the process has a new name, by its first thread
	CheckpointAsked               // write a checkpoint of all before this event
	RefreshAsked                  // refresh the sinks with all before this event
	NotObservedFor                // no observation from At on, for Length
	SampledUnassigned             // a kernel sample of an ended or untracked thread, or of one whose clocks were not read
	ChildSampled                  // a kernel sample of an untracked child, or a tick that found one on a CPU
	ChildCounted                  // CPU time of an untracked child in one program
	ThreadStarted                 // the thread's time begins, before its first sample
	Resumed                       // the machine was suspended for Length until At
)

// Event is what a producer reports to the aggregator, or requests of it.
type Event struct {
	Kind            Kind
	Thread          *Thread
	Proc            *Process
	OtherCaller     *Thread // for Execed: the ended thread that called it, whose clocks go on as those of Thread
	RawSample       *observe.RawSample
	Program         *Program         // of a sampled process, if not that of Proc
	UnchangedBefore sample.Unchanged // unchanged ticks before this event
	At              int64            // CLOCK_MONOTONIC, ns
	Reading         sample.Reading   // for ThreadStarted
	// WalkAtOnce: the next sample needs the walk's hints, or the walk needs memory that may soon be gone.
	WalkAtOnce bool
	StandsFor  int64 // ns; T in package attribute, for Sampled, SampledUnassigned and ChildSampled
	CPU        int64 // ns, for EndedSoFar and ChildCounted
	Length     int64 // wall time, ns, for NotObservedFor and Resumed
	// ChildState is for ChildSampled without a raw sample.
	ChildState attribute.ChildState
	// For ChildCounted, see [attribute.ChildCounted].
	AllCounted bool
	ChildEnded bool
	ThreadEnd  *ThreadEnd            // for ThreadEnded
	ProcessEnd *attribute.ProcessEnd // for ProcessEnded
}
