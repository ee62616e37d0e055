// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/booking"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
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
	// Walked is told of each walk, Explained of each wait that is explained. They are for tests; nil otherwise.
	Walked    func(*handover.Process, *look.Shot, profile.StackID, *frames.Walker)
	Explained func(*look.Shot, *waits.For)
}

// Accountant unwinds what the tracer copied and books the threads' time. It
// belongs to one goroutine.
type Accountant struct {
	Options
	*handover.Common
	unwind  *unwinder
	threads map[*threadAccount]struct{}
	procs   map[*processAccount]struct{}
	// programs are those that run, or have run.
	programs programs
	unmet    samplesWalked // of processes that were not met

	gaps      booking.Gaps
	unix      booking.UnixTime
	totals    totals
	rates     rates
	published struct{ stacks, whole atomic.Int64 }

	asked bool // everything is booked for a checkpoint that is to be written

	family    *booking.Family                     // nil: what children used is not booked
	byMember  map[*booking.Member]*processAccount // of those that are not settled
	lockNames *symbols.Namer                      // nil until a lock is waited for
	suspects  suspects

	cur     *threadAccount // whose spans emit books
	emitOne func(booking.Span)
}

// New makes an accountant.
func New(o Options, with *handover.Common) *Accountant {
	a := &Accountant{
		Options: o, Common: with, unwind: newUnwinder(o.Builder, o.MaxDepth),
		threads: map[*threadAccount]struct{}{}, procs: map[*processAccount]struct{}{}, programs: programs{},
		unix: booking.NewUnixTime(procmem.Now),
	}
	a.unwind.images, a.unwind.walked = o.Images, o.Walked
	a.emitOne = a.emit
	if o.Children && !o.Selected {
		a.family, a.byMember = booking.NewFamily(), map[*booking.Member]*processAccount{}
	} else {
		a.Period, a.Sampled = 0, false
	}
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
	if a.family != nil {
		a.family.Tick(now)
	}
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
		a.process(e.Proc).book.ChildCounted(a.programOf(e.Ran), e.Length, e.Last, e.Exact)
	case handover.SeenRunning:
		a.seenRunning(e)
	case handover.Unchanged:
		a.extend(e)
	case handover.ThreadEnded:
		a.endThread(e)
	case handover.EndedSoFar:
		p := a.process(e.Proc)
		p.book.ExitedSoFar(e.Length, e.At, a.estimate(p))
	case handover.ProcessEnded:
		a.endProcess(a.process(e.Proc), e.Used, e.At)
	case handover.Renamed:
		a.exec(e)
	case handover.CheckpointAsked:
		a.cut()
		a.asked = true
	case handover.RefreshAsked:
		a.refresh(e.At)
	case handover.NotObserved:
		a.gaps.Add(e.At, e.Length)
	case handover.Resumed:
		a.cut()
		a.unix.Resumed(e.At, e.Length)
	}
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
