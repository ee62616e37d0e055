// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"io"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// Options configure an [Aggregator].
type Options struct {
	Builder         *profile.Builder
	Images          *loadedcode.ImageCache // for unopened processes
	MaxDepth        int                    // 0: frames.DefaultMaxDepth
	ThreadsFiltered bool                   // other threads' time is not attributed
	// Children: attribute untracked children's time; Launched: the recording launched the first process.
	Children, Launched bool
	StandsFor          int64          // CPU time, ns, that a sample stands for; 0: unknown
	SampledFromStart   bool           // the kernel samples each thread from its first instruction on
	Tasks              bool           // observe waiting tasks, and read labels of running ones
	OnlyGoroutines     bool           // of waiting tasks
	SaveCheckpoint     func()         // writes a checkpoint, and handles events meanwhile; nil: none
	Sinks              []profile.Sink // beside the Builder
	// CloseProcess releases an ended process.
	CloseProcess func(*loadedcode.Process)
	// nil: not recorded
	Events io.Writer
	// Walked, if set, takes each walk of a tracked process's sample, unless an exec cut it, on the aggregator's
	// goroutine. The Walker is valid until it returns.
	Walked func(*target.Process, *observe.RawSample, sample.StackID, *frames.Walker)
}

// Aggregator walks raw samples and attributes the threads' time. It belongs to one goroutine.
type Aggregator struct {
	*target.Common
	*states
	opts      Options
	out       *intervalSink
	stacks    *stackBuilder
	explainer waitExplainer
	suspects  deadlockSuspects
	counts    stackCounts

	attribution *attribute.Attribution
	sampled     attribute.Sampled
	unchanged   attribute.FoundUnchanged
	eventLog    *attribute.Recorder // nil: not recorded
	tasks       taskRecorder

	checkpointAsked bool // all time up to the request is attributed
}

type stackCounts struct{ walked, complete atomic.Int64 }

// Stacks returns the numbers of walked and of complete stacks; safe for concurrent use.
func (a *Aggregator) Stacks() (all, complete int64) {
	return a.counts.walked.Load(), a.counts.complete.Load()
}

// UnixOf converts CLOCK_MONOTONIC to Unix time, ns.
func (a *Aggregator) UnixOf(at int64) int64 { return a.out.unix.Of(at) }

// New returns an aggregator without processes.
func New(o Options, with *target.Common) *Aggregator {
	a := &Aggregator{opts: o, Common: with, states: newStates()}
	a.stacks = newStackBuilder(o.Builder, o.MaxDepth)
	a.tasks.aggregator = a
	a.stacks.images, a.stacks.walked = o.Images, o.Walked
	a.out = &intervalSink{
		states: a.states, recording: o.Builder, sinks: o.Sinks,
		unix: unixTime{epoch: procmem.UnixAhead(procmem.Now, 20)},
	}
	options := attribute.Options{
		ThreadsFiltered: o.ThreadsFiltered, Children: o.Children, StandsFor: o.StandsFor,
		SampledFromStart: o.SampledFromStart,
	}
	var kernel attribute.ProcSource = procFS{}
	if o.Events != nil {
		a.eventLog = attribute.NewRecorder(o.Events, options, kernel)
		kernel = a.eventLog
	}
	a.attribution = attribute.New(options, kernel, a.out)
	return a
}

// Handle handles a batch, and returns it to the tracer.
func (a *Aggregator) Handle(b target.Batch) {
	for i := range b {
		a.QuotaGate.Wait()
		a.handleEvent(&b[i])
	}
	now := procmem.Now()
	a.Garbage.Measure(now)
	a.attribute(&attribute.Tick{At: now})
	a.Queue.Put(b)
}

func (a *Aggregator) handleEvent(e *target.Event) {
	switch what := e.What.(type) {
	case nil:
		a.attributeObservation(e)
	case *attribute.ProcessStarted:
		a.beginProcess(a.process(e.Proc), what)
	case *attribute.ThreadStarted:
		a.beginThread(a.process(e.Thread.Proc), a.thread(e.Thread))
		a.attribute(what)
	case *attribute.UnassignedSample:
		a.attributeUnassigned(e, what)
	case *attribute.ThreadEnded:
		a.endThread(a.thread(e.Thread), what)
	case *attribute.ProcessEnded:
		a.endProcess(a.process(e.Proc), what)
	case *target.Execed:
		a.afterExec(a.process(e.Proc), e.Thread, what)
	case *target.Renamed:
		a.handleRename(a.thread(e.Thread), &what.Cut)
	case *target.CheckpointAsked:
		a.attribute(&what.Cut)
		a.tasks.checkpoint()
		a.checkpointAsked = true
	case *target.RefreshAsked:
		a.refresh(what.At)
	case *attribute.NotObservedFor:
		a.attribute(what)
		a.tasks.eachPoller(func(t *taskPoller) { t.pauseEnd = what.At + what.Length })
	case *target.Resumed:
		a.attribute(&what.Cut)
		a.tasks.eachPoller((*taskPoller).addIntervals)
		a.out.unix.Resumed(what.At, what.Length)
	default:
		a.attribute(what)
	}
}

func (a *Aggregator) attribute(e attribute.Event) {
	if a.eventLog != nil {
		a.eventLog.Event(e)
	}
	a.attribution.Apply(e)
}

// SaveIfAsked writes a requested checkpoint.
func (a *Aggregator) SaveIfAsked() {
	for r := &a.Requests.Checkpoint; a.checkpointAsked; {
		a.checkpointAsked = false
		took := r.Took()
		if a.opts.SaveCheckpoint != nil {
			began := procmem.Now()
			a.opts.SaveCheckpoint()
			a.evict()
			a.releaseUnused()
			took = procmem.Now() - began
		}
		r.Done(took, a.checkpointAsked)
	}
}

func (a *Aggregator) releaseUnused() {
	a.Pool.Trim()
	if a.explainer.names != nil {
		a.explainer.names.DropUnused()
	}
	if a.stacks.images != nil {
		a.stacks.images.CloseUnused()
	}
}
