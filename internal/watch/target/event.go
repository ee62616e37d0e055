// SPDX-License-Identifier: Apache-2.0

package target

import (
	"time"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/sample"
	"prywalk/internal/watch/observe"
)

// Event is what the tracer reports to the aggregator, or requests of it, in batches ([Common.Queue]):
//   - ProcessStarted is the first event of a process, ProcessEnded the last; events of its children may follow. A
//     process that ended before it was tracked has a ProcessEnded only. ThreadEnded is the last event of a thread, and
//     comes before the ProcessEnded of its process. The tracer numbers processes and threads from 1 ([Process.ID],
//     [Thread.ID]).
//   - The events of a thread are in order of time. A sample has a raw sample from [Common.Pool]: registers, a copy of
//     the stack and the thread's clocks, all of one moment.
//   - The tracer never waits for the aggregator while a thread is stopped: without [BatchQueue.HasRoom] it observes
//     less.
type Event struct {
	// What is the kind of event: a type of package attribute, or one of the types below, each of which embeds such a
	// type. nil means an observation of Thread. It has no raw sample if the thread is unchanged until now (at checkpoints,
	// refreshes, suspensions, execs). The aggregator adds the result of the walk, and the names of programs.
	What   attribute.Event
	Proc   *Process
	Thread *Thread // of UnassignedSample: nil if it is not tracked
	// RawSample is of an observation, or of an UnassignedSample; Program of these, if not that of Proc or Thread.
	RawSample *observe.RawSample
	Program   *Program

	// These are of an observation.
	UnchangedBefore sample.Unchanged // unchanged ticks before
	StandsFor       time.Duration    // T in package attribute
	// WalkAtOnce means that the next sample needs the walk's hints, or the walk needs memory that may soon be gone.
	WalkAtOnce bool
}

// IsSample reports whether it is an observation with a raw sample.
func (e *Event) IsSample() bool { return e.What == nil && e.RawSample != nil }

type (
	// Execed reports that the process runs another program. Execed.Thread is 0, and Event.Thread nil, if --threads
	// selects no thread of the new program.
	Execed struct {
		attribute.Execed
		At monotonic.Moment
	}
	// Renamed reports that the process has a new name, by its first thread.
	Renamed struct{ attribute.Cut }
	// CheckpointAsked requests a checkpoint of all before this event.
	CheckpointAsked struct{ attribute.Cut }
	// RefreshAsked requests a refresh of the sinks with all before this event.
	RefreshAsked struct{ attribute.Tick }
	// Resumed reports that the machine was suspended for Length until At.
	Resumed struct {
		attribute.Cut
		At     monotonic.Moment
		Length time.Duration
	}
)

// Started begins the events of a process.
func (p *Process) Started() Event {
	return Event{Proc: p, What: &attribute.ProcessStarted{
		Process: p.ID, PID: p.Code.PID, Start: p.Code.StartTime, Parent: p.Parent, Since: int64(p.Since),
		FromStart: p.FromStart,
	}}
}

// HasEnded ends the events of a process.
func (p *Process) HasEnded(at monotonic.Moment) Event {
	return Event{Proc: p, What: &attribute.ProcessEnded{Process: p.ID, At: int64(at), ProcessEnd: p.End}}
}

// Started reports a thread whose time begins before its first sample.
func (th *Thread) Started(now sample.Reading) Event {
	return Event{Thread: th, What: &attribute.ThreadStarted{
		Process: th.Proc.ID, Thread: th.ID, CreatedAt: int64(th.CreatedAt), Now: now,
	}}
}

// HasEnded ends the events of a thread, or those of the recording.
func (th *Thread) HasEnded(refused sample.NotStopped) Event {
	return Event{Thread: th, What: &attribute.ThreadEnded{
		Process: th.Proc.ID, Thread: th.ID, CreatedAt: int64(th.CreatedAt), UnchangedBefore: th.Unchanged,
		NotStopped: refused, End: th.End,
	}}
}
