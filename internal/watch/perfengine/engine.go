// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// Engine implements [target.Engine], [target.EngineHolder] and [target.EngineEnder]. Each part uses only parts above
// it.
type Engine struct {
	shared *target.SharedState
	host   target.EngineHost
	opts   *target.SamplingOptions

	stream       *stream
	procs        *processes
	unassigned   *unassignedSamples
	scope        scope
	childSamples *childSamples
	samples      *samples
	modes        *modeChooser

	rateChangedAt ptrace.Moment
	requestedRate float64 // the first one, samples/s
}

const (
	checkEvery = time.Second // interval of checks whether samples come
	drainShare = 4           // buffers are read within a tick once 1/drainShare of the time to fill them has passed
)

func newEngine(shared *target.SharedState, h target.EngineHost, o *target.SamplingOptions, from *Source) *Engine {
	e := &Engine{
		shared: shared, host: h, opts: o,
		stream: &stream{reader: from.Events}, unassigned: &unassignedSamples{shared: shared},
		procs: &processes{sampledByPID: map[int]*process{}},
	}
	if from.Events != nil && from.Events.UserOnly() {
		e.scope = &perThread{shared: shared, reader: from.Events, unassigned: e.unassigned}
	} else {
		e.scope = systemWide{e.stream, e.unassigned}
	}
	counts := &sampleCounts{}
	e.childSamples = &childSamples{shared: shared, stream: e.stream, unassigned: e.unassigned, counts: counts}
	e.samples = &samples{
		shared: shared, host: h, selected: o.Threads != nil, stream: e.stream, procs: e.procs, unassigned: e.unassigned,
		scope: e.scope, childSamples: e.childSamples, counts: counts,
	}
	e.modes = &modeChooser{
		shared: shared, host: h, mayFallBack: from.MayFallBack, stream: e.stream, procs: e.procs, unassigned: e.unassigned,
		scope: e.scope, childSamples: e.childSamples, samples: e.samples,
	}
	return e
}

func (e *Engine) begin() {
	if r := e.stream.reader; r != nil {
		e.requestedRate = r.Freq()
		r.ParseOnly(func(pid int) bool { return e.procs.sampledByPID[pid] != nil || e.childSamples.enabled() })
		if e.opts.Children && e.opts.Threads == nil && e.scope.fromStart() {
			e.childSamples.table = newDescendants()
		}
		r.Resume()
	}
}

// Track implements [target.Engine].
func (e *Engine) Track(of *target.Process) target.ProcessPart {
	p := &process{tracked: of, engine: e, threads: map[int]*thread{}}
	e.procs.all = append(e.procs.all, p)
	e.modes.chooseFor(p)
	e.childSamples.processTracked(p)
	return p
}

func (e *Engine) showsAllThreads() bool { return e.scope.fromStart() && e.procs.allSampled() }

// The rate changes at most every rateEvery, and by a factor of rateStep at least, or to the first requested one.
const (
	rateEvery = time.Second
	rateStep  = 1.25
)

// SetRate implements [target.Engine]. Samples keep the period with which they were taken.
func (e *Engine) SetRate(now ptrace.Moment, hz float64) {
	r := e.stream.reader
	if r == nil || hz == r.Freq() || now.Sub(e.rateChangedAt) < rateEvery {
		return
	}
	if by := hz / r.Freq(); by < rateStep && by > 1/rateStep && hz != e.requestedRate {
		return
	}
	e.rateChangedAt = now
	e.DrainAll(now)
	if e.stream.reader == nil || !r.SetFreq(hz) {
		return
	}
	e.modes.restartSilence(now)
}

// BeginTick implements [target.Engine].
func (e *Engine) BeginTick(now ptrace.Moment, withheld bool) {
	if !withheld {
		e.modes.chooseAll(now)
	}
}

// DrainAll implements [target.Engine].
func (e *Engine) DrainAll(now ptrace.Moment) {
	if !e.stream.on() {
		return
	}
	r, before := e.stream.reader, e.stream.drainedAt
	e.stream.drainedAt = now
	ptrace.Pin() // an allocation accepts preemption
	e.childSamples.drain(r, e.samples.take)
	ptrace.Unpin()
	if before != 0 && now.Sub(before) > r.TimeToFull() {
		e.modes.restartSilence(now)
	}
	e.childSamples.handOver(now)
	r.VaryPeriods(now)
	if now.Sub(e.modes.checkedAt) >= checkEvery {
		e.modes.check(now)
	}
}

// DrainIfDue implements [target.Engine]. The first tick of 5,000 threads takes 0.3 s.
func (e *Engine) DrainIfDue() (buffers bool) {
	if !e.stream.on() {
		return false
	}
	now := ptrace.Now()
	if now.Sub(e.stream.drainedAt) < e.stream.reader.TimeToFull()/drainShare {
		return true
	}
	if e.showsAllThreads() {
		e.host.RecordObservation(now)
	}
	e.DrainAll(now)
	e.samples.readClocks(now)
	return true
}

// EndTick implements [target.Engine].
func (e *Engine) EndTick() { e.unassigned.reportOverdue() }

// Hold implements [target.EngineHolder].
func (e *Engine) Hold() { e.stream.hold() }

// Resume implements [target.EngineHolder].
func (e *Engine) Resume(now ptrace.Moment) {
	e.modes.restartSilence(now)
	e.stream.release()
}

// BeforeLastTick implements [target.EngineEnder]. It ensures that the recording has a stack.
func (e *Engine) BeforeLastTick(now ptrace.Moment) {
	e.DrainAll(now)
	e.modes.ensureStack()
}

// End implements [target.EngineEnder].
func (e *Engine) End() {
	e.modes.load.close()
	e.childSamples.end(false)
	if e.stream.reader != nil {
		e.stream.reader.Pause()
	}
}

// Stats implements [target.Engine].
func (e *Engine) Stats(o *runstats.Observed) { e.modes.stats(o) }

type stream struct {
	reader    *perfevents.Reader // nil means none, or given up
	paused    bool               // no process is sampled at present
	held      bool               // paused until release
	drainedAt ptrace.Moment

	gaveUp       string // reason, or ""
	gaveUpReader *perfevents.Reader
}

func (s *stream) on() bool { return s.reader != nil && !s.paused }

// pauseUnless pauses the samples unless needed, else resumes them; again means that they were paused.
func (s *stream) pauseUnless(needed bool) (again bool) {
	switch {
	case !needed && !s.paused:
		s.reader.Pause()
		s.paused = true
	case needed && s.paused:
		s.reader.Resume()
		s.paused = false
		return true
	}
	return false
}

func (s *stream) hold() {
	s.held = s.on()
	if s.held {
		s.reader.Pause()
	}
}

func (s *stream) release() {
	if s.held && s.reader != nil {
		s.reader.Resume()
	}
	s.held = false
}

func (s *stream) giveUp(why string) {
	s.reader.Pause()
	s.gaveUp = why
	s.gaveUpReader = s.reader
	s.reader = nil
}

func (s *stream) rawSample(o *observe.Observer, r *perfevents.Record) *observe.RawSample {
	raw := o.FromKernelSample(r)
	raw.StandsFor = s.reader.PeriodOf(r)
	return raw
}
