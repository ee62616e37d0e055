// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// Event is one input of an [Attribution]: a pointer to one of the types of this file. Moments are CLOCK_MONOTONIC,
// lengths are nanoseconds. Who creates an event may use it again after [Attribution.Handle] has returned.
type Event interface{ isEvent() }

// ProcessStarted says that a process is sampled from now on.
type ProcessStarted struct {
	Process sample.ProcessID
	PID     int
	Start   uint64 // when it was started, in clock ticks after boot (proc_pid_stat(5), field 22)
	Parent  int    // the number of its parent when it was found; 0: not known
	Since   int64  // since when its time counts
	// FromStart: all its processor time lies within the recording. Childless: all its children's does.
	FromStart, Childless bool
}

// Observed says that a thread was sampled, and the stack is walked.
type Observed struct {
	Process sample.ProcessID
	Task    sample.TaskID
	BornAt  int64            // when the thread was first listed, if its birth was seen; else 0
	Left    sample.LeftAlone // how it was left alone before
	Look
}

// FoundRunning says that a thread runs, and no stack of it is known yet.
type FoundRunning struct {
	Process sample.ProcessID
	Task    sample.TaskID
	BornAt  int64
	Now     sample.Reading
}

// FoundUnchanged says that a thread was found as at its last sample.
type FoundUnchanged struct {
	Task   sample.TaskID
	Before sample.Unchanged
}

// TaskEnded says that a thread has ended, or the recording ends.
type TaskEnded struct {
	Process sample.ProcessID
	Task    sample.TaskID
	BornAt  int64
	Before  sample.Unchanged
	Left    sample.LeftAlone
	End     End
}

// ProcessEnded says that a process has ended, or the recording ends. All its threads have ended before.
type ProcessEnded struct {
	Process sample.ProcessID
	Program string // its name, for the time that goes to the process that waited for it
	At      int64
	ProcessEnd
}

// ProcessEnd is what the kernel says of a process at its end, in nanoseconds of processor time.
type ProcessEnd struct {
	Charged int64 // by the process's clock, while it was sampled
	Before  int64 // and before that
	// Ended is what those of its threads used, in all their lives, that ended while it was sampled. Before its
	// account is closed, it is what others had used, below zero.
	Ended int64
	// Counted is what the kernel's records of switches say of all its life; 0: not known, or the process goes on.
	Counted int64
}

// EndedSoFar says that threads of a process that have ended have used that much by now ([ProcessEnd.Ended]).
type EndedSoFar struct {
	Process    sample.ProcessID
	Length, At int64
}

// Claimed says that a sample of a thread whose own clocks will not be read any more stands for so much processor time.
type Claimed struct {
	Process    sample.ProcessID
	Seen       Seen
	Length, At int64
	// OfChild: it is of a child of the process that is not sampled itself.
	OfChild bool
}

// ChildCounted says that a child that is not sampled itself has used so much while it ran a program.
type ChildCounted struct {
	Process sample.ProcessID
	Program string
	Length  int64
	// Exact: each child's time is known. Ended: the child has ended.
	Exact, Ended bool
}

// NotObservedFor says that no thread was sampled for that length from this moment on.
type NotObservedFor struct{ At, Length int64 }

// Cut says that what is open is to be attributed up to now. Task is the thread that it is about; 0: all.
type Cut struct{ Task sample.TaskID }

// Tick says how late it is.
type Tick struct{ At int64 }

func (*ProcessStarted) isEvent() {}
func (*Observed) isEvent()       {}
func (*FoundRunning) isEvent()   {}
func (*FoundUnchanged) isEvent() {}
func (*TaskEnded) isEvent()      {}
func (*ProcessEnded) isEvent()   {}
func (*EndedSoFar) isEvent()     {}
func (*Claimed) isEvent()        {}
func (*ChildCounted) isEvent()   {}
func (*NotObservedFor) isEvent() {}
func (*Cut) isEvent()            {}
func (*Tick) isEvent()           {}
