// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"prywalk/internal/attribute"
	"prywalk/internal/look"
	"prywalk/internal/sample"
)

// Kind says what the tracer tells the accountant.
type Kind uint8

// What there is to tell.
const (
	Looked          Kind = iota // a look with a shot
	Unchanged                   // found unchanged up to this moment (checkpoint)
	ThreadEnded                 // the thread is gone, or the recording ends
	EndedSoFar                  // threads that have ended have used that length by now ([attribute.ProcessEnd])
	ProcessEnded                // the process is gone, or the recording ends
	ProcessBegan                // a process is sampled from now on
	Renamed                     // the process's first thread has another name: an exec?
	CheckpointAsked             // write a checkpoint when all before is booked
	RefreshAsked                // tell the watcher when all before is booked
	NotObserved                 // nobody was looked at for that length from this moment on
	SampledEnded                // a sample of a thread that has ended, or that nobody met
	ChildSampled                // a sample, or a mark, of a child of the process which nobody met
	ChildKnown                  // such a child is known to have used that length, while it ran that program
	SeenRunning                 // a thread is met running, and no stack of it is known yet
	Resumed                     // the machine was suspended for that length until this moment
)

// Event is what happened to a thread or process at a tick.
type Event struct {
	Kind   Kind
	Thread *Thread
	Proc   *Process
	Shot   *look.Shot
	Ran    *Program         // what a sampled process ran, if it is not what the process runs that the event is of
	Before sample.Unchanged // of the thread, before this
	At     int64            // CLOCK_MONOTONIC, ns
	Now    sample.Reading   // for SeenRunning
	// Soon: for Looked, the next look wants what the walk of this one finds, or the walk wants what may soon be gone.
	Soon bool
	// Length: for NotObserved, Resumed, EndedSoFar and ChildKnown, ns; for looks and samples what each stands for.
	Length int64
	Met    attribute.Met // for ChildSampled without a shot
	// Exact: for ChildKnown, each child's time is known. Last: the child has ended.
	Exact, Last bool
	End         *ThreadEnd            // for ThreadEnded
	Used        *attribute.ProcessEnd // for ProcessEnded
}

// ThreadEnd is what the tracer knows of the end of a thread.
type ThreadEnd struct {
	attribute.End
	Left sample.LeftAlone // what is not told yet
}
