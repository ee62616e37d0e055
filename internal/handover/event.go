// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"prywalk/internal/booking"
	"prywalk/internal/look"
)

// Kind says what the tracer tells the accountant.
type Kind uint8

// What there is to tell.
const (
	Looked          Kind = iota // a look with a shot
	Unchanged                   // found unchanged up to this moment (checkpoint)
	ThreadEnded                 // the thread is gone, or the recording ends
	EndedSoFar                  // threads that have ended have used that length by now (ProcessEnd.Ended)
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
	Ran    *Program          // what a sampled process ran, if it is not what the process runs that the event is of
	Before booking.Unchanged // of the thread, before this
	At     int64             // CLOCK_MONOTONIC, ns
	Now    booking.Reading   // for SeenRunning
	// Soon: for Looked, the next look wants what the walk of this one finds, or the walk wants what may soon be gone.
	Soon bool
	// Length: for NotObserved, Resumed, EndedSoFar and ChildKnown, ns; for looks and samples what each stands for.
	Length int64
	Met    booking.Met // for ChildSampled without a shot
	// Exact: for ChildKnown, each child's time is known. Last: the child has ended.
	Exact, Last bool
	End         *ThreadEnd  // for ThreadEnded
	Used        *ProcessEnd // for ProcessEnded
}

// ThreadEnd is what the tracer knows of the end of a thread.
type ThreadEnd struct {
	booking.End
	Left look.Left // what is not told yet
}

// ProcessEnd is what the tracer knows of the end of a process, in nanoseconds of processor time.
type ProcessEnd struct {
	Charged int64 // by the process's clock, while it was sampled
	Before  int64 // and before that
	// Ended is what those of its threads used, in all their lives, that ended while it was sampled. Before its
	// account is closed, it is what others had used, below zero.
	Ended int64
	// Counted is what the kernel's records of switches say of all its life; 0: that is not known, or it goes on.
	Counted int64
}
