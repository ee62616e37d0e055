// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/account/attribute"
	"prywalk/internal/account/runstats"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// Tracer observes threads, and reports events ([target.Event]). It belongs to its OS thread.
type Tracer struct {
	shared       *target.SharedState
	opts         *target.SamplingOptions
	control      *Control
	engine       target.Engine // in place of stops
	pace         *pacer
	counts       *counts
	gaps         *gapDetector
	creations    *taskCreations
	results      *results
	stops        *stops
	backlog      *backlog
	endedThreads *endedThreads
	tracked      *tracked
	execs        *execs
	listings     *listings
	requests     *requests
	observations *observations
	newThreads   *newThreads
	selector     *selector
	run          run
}

// FileReserve is the number of descriptors left for all that takes from no budget: searches, files of programs, one or
// two of each process, and clocks of pending stops ([procmem.ThreadFiles.KeepSchedstatOpen]).
const FileReserve = 512

// New returns a tracer, which opens files. Its time begins at start. launchTicks, in clock ticks after boot, is the
// launch of the command, or start.
func New(o target.SamplingOptions, c *Control, common *target.Common, start ptrace.Moment, launchTicks uint64) *Tracer {
	s := &target.SharedState{
		Common: common, Files: procmem.NewFDBudget(FileReserve), Backoff: target.NewBackoffs(uint64(start)),
		Out: target.NewOutbox(common.Queue),
	}
	creations, _ := procmem.OpenPIDCounter()
	t := &Tracer{shared: s, opts: &o, control: c, engine: stopsOnly{}, creations: &taskCreations{file: creations}}
	if o.Engine != nil {
		t.engine = o.Engine.Start(s, host{t}, &o)
	}
	t.pace = newPacer(s, &o, start)
	t.counts = &counts{}
	t.gaps = &gapDetector{report: func(from ptrace.Moment, length time.Duration) {
		s.Out.Add(target.Event{What: &attribute.NotObservedFor{At: int64(from), Length: int64(length)}})
	}}
	t.results = &results{shared: s, pace: t.pace, counts: t.counts, gaps: t.gaps}
	t.stops = &stops{
		shared: s, engine: t.engine, pace: t.pace, counts: t.counts, cpus: &cpuChooser{}, results: t.results,
		pending: map[*observe.Thread]*target.Thread{},
	}
	t.backlog = &backlog{shared: s, stops: t.stops}
	t.endedThreads = &endedThreads{out: &s.Out, opts: &o, stops: t.stops}
	t.tracked = &tracked{
		shared: s, opts: &o, engine: t.engine, counts: t.counts, results: t.results, stops: t.stops,
		endedThreads: t.endedThreads, start: start, startTicks: launchTicks,
	}
	t.execs = &execs{
		out: &s.Out, opts: &o, results: t.results, stops: t.stops, endedThreads: t.endedThreads, tracked: t.tracked,
	}
	t.listings = &listings{
		out: &s.Out, engine: t.engine, results: t.results, stops: t.stops, endedThreads: t.endedThreads,
		tracked: t.tracked, execs: t.execs,
	}
	t.requests = &requests{open: s.Requests, out: &s.Out, opts: &o, tracked: t.tracked, backlog: t.backlog}
	t.observations = &observations{
		shared: s, engine: t.engine, pace: t.pace, counts: t.counts, gaps: t.gaps, results: t.results, stops: t.stops,
		backlog: t.backlog,
	}
	t.newThreads = &newThreads{
		tick: &s.Tick, pace: t.pace, creations: t.creations, counts: t.counts, stops: t.stops, tracked: t.tracked,
		observations: t.observations, readTail: (*procmem.TaskDir).ListFrom,
	}
	t.selector = &selector{shared: s, pace: t.pace, stops: t.stops, tracked: t.tracked, observations: t.observations}
	t.shared.Garbage.Await = t.stops.await
	return t
}

// Stats adds the statistics, once, after the tracer has ended or when it hangs.
func (t *Tracer) Stats(s *runstats.Stats) {
	t.engine.Stats(&s.Observed)
	s.Ticks, s.KernelSampled, s.UnassignedSamples = t.shared.Tick.Number, t.shared.EngineSamples, t.shared.Unassigned
	t.counts.stats(s)
	t.pace.stats(s)
	s.ObservationGaps = t.gaps.stats()
	t.listings.stats(s)
	t.backlog.stats(s)
	s.Scheduling = t.run.scheduling
	s.Calls = t.counts.calls(t.run.brokenCalls, t.run.repeatedCalls)
	s.FreqAsked, s.MaxOverhead, s.Subset = t.opts.Freq, t.opts.MaxOverhead, t.opts.Subset
	s.MaxPause = runstats.Nanos(t.opts.MaxPause)
	length := t.run.length
	if begun := t.control.FirstTick(); length == 0 && begun != 0 {
		length = ptrace.Now().Sub(begun)
	}
	s.Seconds = seconds(length)
	if s.Seconds > 0 {
		s.Freq = float64(s.Ticks) / s.Seconds
	}
}

func (t *Tracer) publish() {
	p := Progress{Ticks: t.shared.Tick.Number, Sampled: t.shared.EngineSamples, Threads: t.listings.threads()}
	t.counts.progress(&p)
	t.pace.progress(&p)
	t.control.publish(&p)
}

func seconds(ns time.Duration) float64 { return float64(ns) / 1e9 }
