// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"io"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/attribute/replay"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
)

// Options say what is recorded, and whom it concerns.
type Options struct {
	Builder  *profile.Builder
	Images   *code.ImageCache // for processes that were never opened
	MaxDepth int              // of a stack; 0 means frames.DefaultMaxDepth
	// Selected: only some threads are wanted, and the others' time is not booked.
	Selected bool
	// Children: what children used that nobody met is booked. Launched: the first process was launched for the
	// recording, and had none before.
	Children, Launched bool
	// Period is the time that each look or sample stands for, ns; 0: not known. Sampled: the kernel takes samples.
	Period  int64
	Sampled bool
	// Kernel: the kernel's functions are wanted in stacks.
	Kernel bool
	// Save is called for each checkpoint, nil for none.
	Save  func(between func())
	Watch profile.Watcher // nil: nobody watches
	// Close lets go of a process that has ended.
	Close func(*code.Process)
	// Events takes the stream of events that time is attributed by (package replay); nil: it is not recorded.
	Events io.Writer
	// Walked is told of each walk, Explained of each wait that is explained. They are for tests; nil otherwise.
	Walked    func(*handover.Process, *look.Shot, sample.StackID, *frames.Walker)
	Explained func(*look.Shot, *waits.For)
}

// Accountant unwinds what the tracer copied and books the threads' time. It
// belongs to one goroutine.
type Accountant struct {
	Options
	*handover.Common
	unwind *unwinder
	// threads and procs are those of which there may be more intervals.
	threads map[sample.TaskID]*threadAccount
	procs   map[sample.ProcessID]*processAccount
	// programs are those that run, or have run.
	programs programs
	unmet    samplesWalked // of processes that were not met

	times     *attribute.Attribution
	observed  attribute.Observed // used again for each sample
	events    *replay.Recorder   // nil: events are not recorded
	unix      unixTime
	totals    totals
	rates     rates
	published struct{ stacks, whole atomic.Int64 }

	asked bool // everything is booked for a checkpoint that is to be written

	lockNames *symbols.Namer // nil until a lock is waited for
	suspects  suspects
}

// New makes an accountant.
func New(o Options, with *handover.Common) *Accountant {
	a := &Accountant{
		Options: o, Common: with, unwind: newUnwinder(o.Builder, o.MaxDepth),
		threads: map[sample.TaskID]*threadAccount{}, procs: map[sample.ProcessID]*processAccount{}, programs: programs{},
		unix: newUnixTime(procmem.Now),
	}
	a.unwind.images, a.unwind.walked = o.Images, o.Walked
	of := attribute.Options{Selected: o.Selected, Children: o.Children, Period: o.Period, Sampled: o.Sampled}
	var relatives attribute.Relatives = kernel{}
	if o.Events != nil {
		a.events = replay.NewRecorder(o.Events, of, relatives)
		relatives = a.events
	}
	a.times = attribute.New(of, relatives, sink{a})
	return a
}

// Book books a batch of events, and gives it back to the tracer.
func (a *Accountant) Book(b handover.Batch) {
	for i := range b {
		a.Turn.Wait()
		a.handle(&b[i])
	}
	now := procmem.Now()
	a.Garbage.Measure(now)
	a.attribute(&attribute.Tick{At: now})
	a.Ring.Put(b)
}

// handle books one event.
func (a *Accountant) handle(e *handover.Event) {
	switch e.Kind {
	case handover.ProcessBegan:
		a.beginProcess(a.process(e.Proc))
	case handover.Looked:
		a.look(e)
	case handover.SampledEnded:
		a.claim(e)
	case handover.ChildSampled:
		a.claimOfChild(e)
	case handover.ChildKnown:
		a.attribute(&attribute.ChildCounted{
			Process: e.Proc.ID, Program: a.programOf(e.Ran), Length: e.Length, Exact: e.Exact, Ended: e.Last,
		})
	case handover.SeenRunning:
		a.seenRunning(e)
	case handover.Unchanged:
		a.attribute(&attribute.FoundUnchanged{Task: e.Thread.ID, Before: e.Before})
	case handover.ThreadEnded:
		a.endThread(e)
	case handover.EndedSoFar:
		a.attribute(&attribute.EndedSoFar{Process: e.Proc.ID, Length: e.Length, At: e.At})
	case handover.ProcessEnded:
		a.endProcess(a.process(e.Proc), e.Used, e.At)
	case handover.Renamed:
		a.exec(e)
	case handover.CheckpointAsked:
		a.attribute(&attribute.Cut{})
		a.asked = true
	case handover.RefreshAsked:
		a.refresh(e.At)
	case handover.NotObserved:
		a.attribute(&attribute.NotObservedFor{At: e.At, Length: e.Length})
	case handover.Resumed:
		a.attribute(&attribute.Cut{})
		a.unix.Resumed(e.At, e.Length)
	}
}

// attribute attributes the time of an event.
func (a *Accountant) attribute(e attribute.Event) {
	if a.events != nil {
		a.events.Event(e)
	}
	a.times.Handle(e)
}

// SaveIfAsked writes a checkpoint that was asked for. A long recording takes seconds to write, in which copies of
// stacks come in: between, which is called again and again meanwhile, is to book them.
func (a *Accountant) SaveIfAsked(between func()) {
	for r := &a.Requests.Checkpoint; a.asked; {
		a.asked = false
		took := r.Took()
		if a.Save != nil {
			began := procmem.Now()
			a.Save(between)
			a.rest()
			took = procmem.Now() - began
		}
		r.Done(took, a.asked)
	}
}

// rest lets go of what was read of files that nobody runs any more: the recording has their names.
func (a *Accountant) rest() {
	if a.lockNames != nil {
		a.lockNames.Rest()
	}
	if a.unwind.images != nil {
		a.unwind.images.Rest()
	}
}

// WhileReading calls a function that reads files of targets. Should it hang, somebody else may take the books over.
func (a *Accountant) WhileReading(f func()) {
	a.unwind.books.lend()
	f()
	a.unwind.books.back()
}

// Seize takes the books from an accountant that hangs while it reads; false if it does not. What is called afterwards
// is for the goroutine that has them now.
func (a *Accountant) Seize() bool { return a.unwind.books.seize() }

// UnixOf gives a moment of CLOCK_MONOTONIC as the recording has it, in Unix nanoseconds.
func (a *Accountant) UnixOf(at int64) int64 { return a.unix.Of(at) }

// Stacks gives how many stacks were walked so far, and how many of them are whole. Any goroutine may ask.
func (a *Accountant) Stacks() (all, whole int64) {
	return a.published.stacks.Load(), a.published.whole.Load()
}
