// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"sync/atomic"
	"time"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/target"
)

// Aggregator walks raw samples and attributes the threads' time. It belongs to one goroutine.
type Aggregator struct {
	common    *target.Common
	states    *states
	opts      *target.SamplingOptions
	out       *intervalSink
	stacks    *stackBuilder
	explainer waitExplainer
	suspects  deadlockSuspects
	counts    stackCounts

	attribution *attribute.Attribution
	sampled     attribute.Sampled
	unchanged   attribute.FoundUnchanged
	eventLog    *attribute.Recorder // nil means not recorded
	tasks       taskRecorder

	closeProcess    func(*loadedcode.Process)
	checkpointAsked bool // all time up to the request is attributed
}

type stackCounts struct{ walked, complete atomic.Int64 }

// Stacks returns the numbers of walked and of complete stacks; safe for concurrent use.
func (a *Aggregator) Stacks() (all, complete int64) {
	return a.counts.walked.Load(), a.counts.complete.Load()
}

// UnixOf converts a moment to Unix time, in nanoseconds.
func (a *Aggregator) UnixOf(at monotonic.Moment) int64 { return a.out.unix.Of(at) }

// New returns an aggregator without processes. images are for unopened ones; closeProcess releases an ended one.
func New(o *target.SamplingOptions, b *profile.Builder, images *loadedcode.ImageCache,
	closeProcess func(*loadedcode.Process), with *target.Common,
) *Aggregator {
	a := &Aggregator{opts: o, common: with, states: newStates(), closeProcess: closeProcess}
	a.stacks = newStackBuilder(b, o.MaxDepth)
	a.tasks.aggregator = a
	a.stacks.images, a.stacks.walked = images, o.Walked
	a.out = &intervalSink{
		states: a.states, recording: b, sinks: o.Sinks,
		unix: unixTime{epoch: procmem.UnixAhead(procmem.Now, 20)},
	}
	options := attribute.Scope{
		ThreadsFiltered: o.Threads != nil, Children: o.Children,
	}
	if o.Freq > 0 {
		options.StandsFor = int64(float64(time.Second) / o.Freq)
	}
	if engine := o.Engine; engine != nil && engine.Period() > 0 {
		options.StandsFor, options.SampledFromStart = int64(engine.Period()), engine.FromStart()
	}
	var kernel attribute.ProcSource = procFS{}
	if o.EventLog != nil {
		a.eventLog = attribute.NewRecorder(o.EventLog, options, kernel)
		kernel = a.eventLog
	}
	a.attribution = attribute.New(options, kernel, a.out)
	return a
}

// Handle handles a batch, and returns it to the tracer.
func (a *Aggregator) Handle(b target.Batch) {
	for i := range b {
		a.common.QuotaGate.Wait()
		a.handleEvent(&b[i])
	}
	now := procmem.Now()
	a.common.Garbage.Measure(now)
	a.attribute(&attribute.Tick{At: now})
	a.common.Queue.Put(b)
}

func (a *Aggregator) handleEvent(e *target.Event) {
	switch what := e.What.(type) {
	case nil:
		a.attributeObservation(e)
	case *attribute.ProcessStarted:
		a.beginProcess(a.states.process(e.Proc), what)
	case *attribute.ThreadStarted:
		a.beginThread(a.states.process(e.Thread.Proc), a.states.thread(e.Thread))
		a.attribute(what)
	case *attribute.UnassignedSample:
		a.attributeUnassigned(e, what)
	case *attribute.ThreadEnded:
		a.endThread(a.states.thread(e.Thread), what)
	case *attribute.ProcessEnded:
		a.endProcess(a.states.process(e.Proc), what)
	case *target.Execed:
		a.afterExec(a.states.process(e.Proc), e.Thread, what)
	case *target.Renamed:
		a.handleRename(a.states.thread(e.Thread), &what.Cut)
	case *target.CheckpointAsked:
		a.attribute(&what.Cut)
		a.tasks.checkpoint()
		a.checkpointAsked = true
	case *target.RefreshAsked:
		a.refresh(monotonic.Moment(what.At))
	case *attribute.NotObservedFor:
		a.attribute(what)
		a.tasks.eachPoller(func(t *taskPoller) { t.pauseEnd = monotonic.Moment(what.At + what.Length) })
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
func (a *Aggregator) SaveIfAsked(c target.Checkpointing) {
	for r := &a.common.Requests.Checkpoint; a.checkpointAsked; {
		a.checkpointAsked = false
		took := r.Took()
		if a.opts.Checkpoint != nil {
			began := procmem.Moment()
			a.opts.Checkpoint(c)
			a.evict()
			a.releaseUnused()
			took = procmem.Moment().Sub(began)
		}
		r.Done(took, a.checkpointAsked)
	}
}

func (a *Aggregator) releaseUnused() {
	a.common.Pool.Trim()
	if a.explainer.names != nil {
		a.explainer.names.DropUnused()
	}
	if a.stacks.images != nil {
		a.stacks.images.CloseUnused()
	}
}
