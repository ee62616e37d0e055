// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"io"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/handover"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
)

// Options configure an [Aggregator].
type Options struct {
	Builder         *profile.Builder
	Images          *loadedcode.ImageCache // for processes that were never opened
	MaxDepth        int                    // of a stack; 0 means frames.DefaultMaxDepth
	ThreadsFiltered bool                   // the time of other threads is not attributed
	// Children: attribute the time of untracked children; Launched: the first process was launched for the
	// recording.
	Children, Launched bool
	// Period is the time that a sample stands for, ns; 0: unknown.
	Period        int64
	KernelSamples bool // the kernel takes samples
	Tasks         bool // observe waiting tasks, and read labels of running ones
	Kernel        bool // keep kernel frames
	// Save writes a checkpoint; nil: none.
	Save  func(between func())
	Sinks []profile.Sink // beside the Builder
	// Close releases an ended process.
	Close func(*loadedcode.Process)
	// Events receives the attribution's events ([attribute.Recorder]); nil: not recorded.
	Events io.Writer
	// Walked is called for each walk, Explained for each explained wait; for tests.
	Walked    func(*handover.SharedProcess, *observe.RawSample, sample.StackID, *frames.Walker)
	Explained func(*observe.RawSample, *waits.Wait)
}

// Aggregator walks raw samples and attributes the threads' time. It belongs to one goroutine.
type Aggregator struct {
	Options
	*handover.Common
	*accounts
	*intervalSink
	stacks *stackBuilder
	waits  waitExplainer
	deadlockSuspects
	stackCounts

	untracked   samplesWalked // of untracked processes
	attribution *attribute.Attribution
	observed    attribute.Observed  // reused for each sample
	events      *attribute.Recorder // nil: not recorded

	checkpointAsked bool  // and all time up to the request is attributed
	pollDue         int64 // next observation of tasks, CLOCK_MONOTONIC ns
}

// stackCounts can be read by any goroutine.
type stackCounts struct{ walkedStacks, completeStacks, taskObservations atomic.Int64 }

// Stacks returns the numbers of walked and of complete stacks; safe for concurrent use.
func (p *stackCounts) Stacks() (all, whole int64) {
	return p.walkedStacks.Load(), p.completeStacks.Load()
}

// New returns an aggregator without processes.
func New(o Options, with *handover.Common) *Aggregator {
	a := &Aggregator{Options: o, Common: with, stacks: newStackBuilder(o.Builder, o.MaxDepth), accounts: newAccounts()}
	a.stacks.images, a.stacks.walked = o.Images, o.Walked
	a.intervalSink = &intervalSink{
		accounts: a.accounts, stacks: a.stacks, recording: o.Builder, sinks: o.Sinks, unix: newUnixTime(procmem.Now),
	}
	a.waits = waitExplainer{runs: a.stacks.managed.runCounts, explained: o.Explained}
	options := attribute.Options{
		ThreadsFiltered: o.ThreadsFiltered, Children: o.Children, Period: o.Period, KernelSamples: o.KernelSamples,
	}
	var relatives attribute.ProcSource = procFS{}
	if o.Events != nil {
		a.events = attribute.NewRecorder(o.Events, options, relatives)
		relatives = a.events
	}
	a.attribution = attribute.New(options, relatives, a.intervalSink)
	return a
}

// Handle handles a batch, and returns it to the tracer.
func (a *Aggregator) Handle(b handover.Batch) {
	for i := range b {
		a.QuotaGate.Wait()
		a.handleEvent(&b[i])
	}
	now := procmem.Now()
	a.Garbage.Measure(now)
	a.attribute(&attribute.Tick{At: now})
	a.Queue.Put(b)
}

func (a *Aggregator) handleEvent(e *handover.Event) {
	switch e.Kind {
	case handover.ProcessBegan:
		a.beginProcess(a.process(e.Proc))
	case handover.Sampled:
		a.attributeSample(e)
	case handover.SampledUnassigned:
		a.attributeUnassigned(e)
	case handover.ChildSampled:
		a.attributeUnassignedOfChild(e)
	case handover.ChildTime:
		a.attribute(&attribute.ChildCounted{
			Process: e.Proc.ID, Program: programOf(e.Program), Length: e.Length, Exact: e.Exact, ChildEnded: e.Last,
		})
	case handover.ThreadStarted:
		a.beginThread(e)
	case handover.Unchanged:
		a.attribute(&attribute.FoundUnchanged{Thread: e.Thread.ID, UnchangedBefore: e.UnchangedBefore})
	case handover.ThreadEnded:
		a.endThread(e)
	case handover.EndedSoFar:
		a.attribute(&attribute.EndedSoFar{Process: e.Proc.ID, Length: e.Length, At: e.At})
	case handover.ProcessEnded:
		a.endProcess(a.process(e.Proc), e.ProcessEnd, e.At)
	case handover.Execed:
		a.handleExec(e)
	case handover.Renamed:
		a.handleRename(e)
	case handover.CheckpointAsked:
		a.attribute(&attribute.Cut{})
		a.checkpointTasks()
		a.checkpointAsked = true
	case handover.RefreshAsked:
		a.refresh(e.At)
	case handover.NotObserved:
		a.attribute(&attribute.NotObservedFor{At: e.At, Length: e.Length})
		a.noteGapInTasks(e.At + e.Length)
	case handover.Resumed:
		a.attribute(&attribute.Cut{})
		a.addTaskIntervals()
		a.unix.Resumed(e.At, e.Length)
	}
}

func (a *Aggregator) attribute(e attribute.Event) {
	if a.events != nil {
		a.events.Event(e)
	}
	a.attribution.Handle(e)
}

// SaveIfAsked writes a requested checkpoint. During the write it calls between repeatedly, to handle raw samples.
func (a *Aggregator) SaveIfAsked(between func()) {
	for r := &a.Requests.Checkpoint; a.checkpointAsked; {
		a.checkpointAsked = false
		took := r.Took()
		if a.Save != nil {
			began := procmem.Now()
			a.Save(between)
			a.evict()
			a.releaseUnused()
			took = procmem.Now() - began
		}
		r.Done(took, a.checkpointAsked)
	}
}

// releaseUnused releases idle buffers and unused files; the recording has their names.
func (a *Aggregator) releaseUnused() {
	a.Pool.Trim()
	a.waits.closeUnused()
	if a.stacks.images != nil {
		a.stacks.images.CloseUnused()
	}
}

// WhileReading calls f, which reads files of targets. If f hangs, [Aggregator.TakeOver] succeeds.
func (a *Aggregator) WhileReading(f func()) {
	a.stacks.lock.beginRead()
	f()
	a.stacks.lock.endRead()
}

// TakeOver takes the recording from an aggregator that hangs in a read; false: it does not hang. Then only the calling
// goroutine may call methods.
func (a *Aggregator) TakeOver() bool { return a.stacks.lock.takeOver() }
