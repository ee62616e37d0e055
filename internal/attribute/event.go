// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// Event is one input of an [Attribution]. Moments are CLOCK_MONOTONIC, lengths ns. It may be reused after
// [Attribution.Handle].
type Event interface {
	// streamName gives the event's name in recorded streams (recorder.go).
	streamName() string
}

// ProcessStarted reports that sampling of a process begins, at Since.
type ProcessStarted struct {
	Process sample.ProcessID
	PID     int
	Start   uint64 // clock ticks after boot (proc_pid_stat(5), field 22)
	Parent  int    // process id at discovery; 0: unknown
	Since   int64
	// FromStart reports whether all its CPU time lies within the recording; Childless, all that of its children.
	FromStart, Childless bool
}

// Observed reports that a thread was sampled and its stack walked.
type Observed struct {
	Process    sample.ProcessID
	Thread     sample.ThreadID   `json:"Task"`
	CreatedAt  int64             // first listing; 0: creation not observed
	NotStopped sample.NotStopped `json:"Left"`
	Sample
}

// FoundRunning reports that a thread without a known stack runs.
type FoundRunning struct {
	Process   sample.ProcessID
	Thread    sample.ThreadID `json:"Task"`
	CreatedAt int64
	Now       sample.Reading
}

// FoundUnchanged reports that a thread has not changed since its last sample.
type FoundUnchanged struct {
	Thread sample.ThreadID `json:"Task"`
	Before sample.Unchanged
}

// ThreadEnded reports that a thread or the recording has ended.
type ThreadEnded struct {
	Process    sample.ProcessID
	Thread     sample.ThreadID `json:"Task"`
	CreatedAt  int64
	Before     sample.Unchanged
	NotStopped sample.NotStopped `json:"Left"`
	End        End
}

// ProcessEnded reports that a process or the recording has ended, after all its threads.
type ProcessEnded struct {
	Process sample.ProcessID
	Program string
	At      int64
	ProcessEnd
}

// ProcessEnd holds the kernel's counts for a process, ns of CPU time.
type ProcessEnd struct {
	Charged int64 // while it was sampled
	Before  int64 // before that
	// Ended is the lifetime CPU time of threads that ended during sampling; negative values are possible while the process
	// lives.
	Ended int64
	// Counted is the CPU time of its life by records of switches; 0: unknown.
	Counted int64
}

// EndedSoFar is [ProcessEnd.Ended] of a living process.
type EndedSoFar struct {
	Process    sample.ProcessID
	Length, At int64
}

// Claimed reports that a sample of an ended thread stands for Length of CPU time.
type Claimed struct {
	Process    sample.ProcessID
	Seen       Seen
	Length, At int64
	// OfChild reports whether the sample is of an unobserved child of the process.
	OfChild bool
}

// ChildCounted reports that an unobserved child has used Length while it ran Program.
type ChildCounted struct {
	Process sample.ProcessID
	Program string
	Length  int64
	// Exact reports whether the time of each child is known; Ended, whether the child has ended.
	Exact, Ended bool
}

// NotObservedFor reports that no thread was sampled for Length, beginning at At.
type NotObservedFor struct{ At, Length int64 }

// Cut requests that open time up to now is attributed: of a thread, or of all if Thread is 0.
type Cut struct {
	Thread sample.ThreadID `json:"Task"`
}

// Tick reports that the current time is At.
type Tick struct{ At int64 }

func (*ProcessStarted) streamName() string { return "ProcessStarted" }
func (*Observed) streamName() string       { return "Observed" }
func (*FoundRunning) streamName() string   { return "FoundRunning" }
func (*FoundUnchanged) streamName() string { return "FoundUnchanged" }
func (*ThreadEnded) streamName() string    { return "TaskEnded" }
func (*ProcessEnded) streamName() string   { return "ProcessEnded" }
func (*EndedSoFar) streamName() string     { return "EndedSoFar" }
func (*Claimed) streamName() string        { return "Claimed" }
func (*ChildCounted) streamName() string   { return "ChildCounted" }
func (*NotObservedFor) streamName() string { return "NotObservedFor" }
func (*Cut) streamName() string            { return "Cut" }
func (*Tick) streamName() string           { return "Tick" }
