// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"runtime"

	"prywalk/internal/backoff"
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/schedule"
	"prywalk/internal/skid"
)

// Tracer is the engine of a recording ([handover.Engine]). It belongs to its OS thread.
type Tracer struct {
	*state
	control    *Control
	stop       func() // ends the run
	tracked    *tracked
	newThreads *newThreads
	children   *newChildren
	due        *due
	observer   *observer
	stops      *stops
	running    engine.Running // in place of stops
	reports    *reports
	walks      *pathWalks
	run        run
}

// New makes a tracer, which opens files. Its time begins at start, CLOCK_MONOTONIC ns; boot is the same in clock ticks
// after boot. The time of children started since counts from their start.
func New(o Options, k *Control, with *handover.Common, start int64, boot uint64) *Tracer {
	s := &state{
		Run: engine.Run{
			Common: with, Files: procmem.NewBudget(FileReserve), Idle: backoff.New(uint64(start)),
			Out: handover.NewOutbox(with.Ring),
		},
		opts:  o,
		ticks: schedule.NewTicks(start, o.Freq), budget: schedule.NewBudget(o.Freq, o.MaxOverhead, runtime.NumCPU()),
		cpus: &skid.CPUChooser{},
	}
	s.budget.UseParts()
	if o.OfHost {
		s.budget.OfHost()
	}
	t := &Tracer{
		state: s, control: k,
		stops:   &stops{state: s, pending: map[*observe.Thread]pendingStop{}},
		tracked: &tracked{state: s, start: start, boot: boot}, reports: &reports{state: s},
		newThreads: &newThreads{state: s}, children: &newChildren{state: s},
		due:      &due{state: s, subset: schedule.NewSubset(o.Subset, uint64(start))},
		observer: &observer{state: s}, walks: &pathWalks{state: s},
	}
	t.running = stopsAlone{}
	if o.Running != nil {
		t.running = o.Running.Start(&s.Run, host{t}, engine.Options{Children: o.Children, Selected: o.Threads != nil})
	}
	t.connect()
	t.newThreads.births.file, _ = procmem.OpenPIDCounter() // else each tick may have some
	if o.Children && o.Threads == nil {
		t.children.begin()
	}
	return t
}

func (t *Tracer) connect() {
	d := t.tracked
	d.stops, d.walks, d.reports = t.stops, t.walks, t.reports
	d.running, d.children = t.running, t.children
	d.ended = &endedThreads{state: t.state, stops: t.stops, tracked: d}
	n, c := t.newThreads, t.children
	n.tracked, n.stops, n.observer = d, t.stops, t.observer
	c.births, c.walks, c.stops, c.observer, c.due = &n.births, t.walks, t.stops, t.observer, t.due
	c.running = t.running
	t.due.tracked, t.due.stops, t.due.observer = d, t.stops, t.observer
	o := t.observer
	o.stops, o.tracked, o.reports, o.running = t.stops, d, t.reports, t.running
	t.reports.tracked, t.walks.stops = d, t.stops
	t.stops.done, t.stops.drain, t.stops.awaitDraining = t.stopped, t.running.DrainIfDue, t.running.AwaitDraining
	t.Garbage.Await = t.stops.await
}

// FileReserve is the number of descriptors left for everything but kept-open /proc files.
const FileReserve = 512

func (t *Tracer) attachArrived() {
	for {
		select {
		case p := <-t.control.arrive:
			t.tracked.attachProcess(p)
			t.stops.serveStopped()
		default:
			return
		}
	}
}

func (t *Tracer) stopped(l *observe.Thread, s *observe.RawSample, err error) {
	if ns := l.TakeLostStop(); ns > 0 {
		t.observer.countFailedStop(l, ns)
	}
	switch of := t.stops.take(l); {
	case of.child != nil:
		t.children.stopped(of.child, s, err)
	case of.thread != nil:
		t.observer.finishPending(of.thread, s, err)
	}
}
