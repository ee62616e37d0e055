// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
)

// Tracer is the producer of a recording ([handover.Producer]). It belongs to its OS thread. Each part uses only parts
// above it, except by the functions that New passes (finishStop, endThread).
type Tracer struct {
	*state
	control      *Control
	stop         func()        // ends the run
	engine       engine.Engine // in place of stops
	creations    *taskCreations
	stops        *stops
	backlog      *backlog
	walks        *pathWalks
	reports      *reports
	newChildren  *newChildren
	ended        *endedThreads
	tracked      *tracked
	execs        *execs
	observations *observations
	newThreads   *newThreads
	selector     *selector
	run          run
}

// New returns a tracer, which opens files. Its time begins at start, CLOCK_MONOTONIC ns; boot is the same in clock
// ticks after boot.
func New(o Options, c *Control, with *handover.Common, start int64, boot uint64) *Tracer {
	s := newState(o, with, start)
	t := &Tracer{state: s, control: c, engine: stopsOnly{}}
	if o.Engine != nil {
		t.engine = o.Engine.Start(&s.SharedState, host{t}, engine.Options{Children: o.Children, Selected: o.Threads != nil})
	}
	t.creations = openTaskCreations()
	t.stops = newStops(&s.SharedState, t.engine, s.pace, s.counts, t.finishStop)
	t.backlog = &backlog{SharedState: &s.SharedState, stops: t.stops}
	t.walks = &pathWalks{state: s, stops: t.stops}
	t.reports = &reports{state: s, backlog: t.backlog}
	t.newChildren = &newChildren{
		state: s, engine: t.engine, creations: t.creations, stops: t.stops, backlog: t.backlog, walks: t.walks,
	}
	t.ended = &endedThreads{state: s, stops: t.stops, endThread: func(th *thread) { t.tracked.endThread(th) }}
	t.tracked = &tracked{
		state: s, engine: t.engine, stops: t.stops, walks: t.walks, newChildren: t.newChildren, ended: t.ended,
		start: start, startTicks: boot,
	}
	t.execs = &execs{state: s, stops: t.stops, tracked: t.tracked, newChildren: t.newChildren}
	t.tracked.execs = t.execs
	t.observations = &observations{
		state: s, engine: t.engine, stops: t.stops, backlog: t.backlog, reports: t.reports, tracked: t.tracked,
	}
	t.newThreads = &newThreads{
		state: s, creations: t.creations, stops: t.stops, tracked: t.tracked, observations: t.observations,
	}
	t.selector = &selector{state: s, stops: t.stops, observations: t.observations}
	t.Garbage.Await = t.stops.await
	if o.Children && o.Threads == nil {
		t.newChildren.begin()
	}
	return t
}

// FileReserve is the number of descriptors left for everything but kept-open /proc files.
const FileReserve = 512

func (t *Tracer) trackArrived() {
	for {
		select {
		case p := <-t.control.arriving:
			t.tracked.trackProcess(p)
			t.stops.poll()
		default:
			return
		}
	}
}

// finishStop uses what a stop has read.
func (t *Tracer) finishStop(of stopTarget, raw *observe.RawSample, err error) {
	switch {
	case of.child != nil:
		t.newChildren.finish(of.child, raw, err)
	case of.thread != nil:
		t.observations.finishPending(of.thread, raw, err)
	}
}
