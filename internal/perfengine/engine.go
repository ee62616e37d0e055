// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"prywalk/internal/engine"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
	"prywalk/internal/runstats"
	"prywalk/ptrace"
)

// Engine implements [engine.Running], [engine.Holder] and [engine.Ender] by the kernel's samples. Its parts are in the
// order of their dependencies: each uses only parts above it.
type Engine struct {
	*engine.Run
	host engine.Host
	opts engine.Options

	stream    *stream
	procs     *processes
	claims    *claims
	scope     scope
	perThread *perThread // nil: scope is systemWide
	children  *children
	clocks    *childClocks
	samples   *samples
	choice    *choice

	rateSet int64   // last change of the rate, CLOCK_MONOTONIC ns
	asked   float64 // rate asked for at first, samples/s
}

const (
	// checkEvery is the interval of checks whether samples come, ns.
	checkEvery = 1e9
	// drainAfter is the time after which the buffers are read within a tick, in periods of sampling: they have room for
	// 32 samples.
	drainAfter = 8
)

func newEngine(r *engine.Run, h engine.Host, o engine.Options, from *Source) *Engine {
	s := &Engine{
		Run: r, host: h, opts: o,
		stream: &stream{reader: from.Events}, procs: &processes{sampled: map[int]*process{}}, claims: &claims{run: r},
	}
	if from.Events != nil && from.Events.PerThread() {
		s.perThread = &perThread{run: r, reader: from.Events}
		s.scope = s.perThread
	} else {
		s.scope = systemWide{s.stream, s.claims}
	}
	counts := &sampleCounts{}
	s.children = &children{run: r, stream: s.stream, claims: s.claims, n: counts}
	s.clocks = &childClocks{run: r, threads: s.procs.threads}
	s.samples = &samples{
		run: r, host: h, selected: o.Selected, stream: s.stream, procs: s.procs, claims: s.claims, children: s.children,
		n: counts,
	}
	s.choice = &choice{
		run: r, host: h, choose: from.Choose, stream: s.stream, procs: s.procs, claims: s.claims, scope: s.scope,
		children: s.children, samples: s.samples,
	}
	return s
}

func (s *Engine) begin(descendants *perfevents.Reader) {
	followed := s.opts.Children && !s.opts.Selected
	if r := s.stream.reader; r != nil {
		s.asked = r.Freq()
		r.ParseOnly(s.wants)
		r.SetTargets(s.isTarget)
		if followed && s.scope.fromStart() {
			s.children.begin()
		}
		r.Resume()
	}
	if followed && !s.children.sampled() {
		s.clocks.begin(descendants)
	}
}

func (s *Engine) wants(pid int) bool { return s.procs.sampled[pid] != nil || s.children.sampled() }

func (s *Engine) isTarget(pid int) bool { return s.procs.sampled[pid] != nil || s.children.knows(pid) }

// Track implements [engine.Running].
func (s *Engine) Track(of *engine.Process) engine.ProcessObserver {
	p := &process{Process: of, engine: s, threads: map[int]*thread{}}
	s.procs.all = append(s.procs.all, p)
	s.choice.chooseFor(p)
	s.children.processTracked(p)
	s.clocks.processTracked(p)
	return p
}

// Coverage implements [engine.Running].
func (s *Engine) Coverage() engine.Coverage {
	return engine.Coverage{
		Complete: s.stream.on() && !s.choice.childrenFellBack && s.showAll(),
		Children: s.children.sampled(), ChildTimes: s.clocks.reader != nil,
	}
}

func (s *Engine) showAll() bool { return s.scope.fromStart() && s.procs.allSampled() }

// The rate is changed at most every rateEvery ns, and by rateStep at least.
const (
	rateEvery = 1e9
	rateStep  = 1.25
)

// SetRate implements [engine.Running]. Each sample keeps the period of its time.
func (s *Engine) SetRate(now int64, hz float64) {
	r := s.stream.reader
	if r == nil || hz == r.Freq() || now-s.rateSet < rateEvery {
		return
	}
	if by := hz / r.Freq(); by < rateStep && by > 1/rateStep && hz != s.asked {
		return
	}
	s.rateSet = now
	s.TakeAll(now)
	if s.stream.reader == nil || !r.SetFreq(hz) {
		return
	}
	s.choice.restartSilence(now)
	for _, p := range s.procs.all {
		for _, th := range p.threads {
			th.events.rateChanged = true
		}
	}
}

// BeginTick implements [engine.Running].
func (s *Engine) BeginTick(now int64, withheld bool) {
	if !withheld {
		s.choice.chooseAll()
	}
	s.clocks.report(now)
}

// TakeAll implements [engine.Running].
func (s *Engine) TakeAll(now int64) {
	if !s.stream.on() {
		return
	}
	r, before := s.stream.reader, s.stream.drained
	s.stream.drained = now
	ptrace.Pin() // an allocation accepts preemption
	s.children.drain(r, s.samples.take)
	ptrace.Unpin()
	if before != 0 && now-before > r.TimeToFull() {
		s.choice.restartSilence(now)
	}
	s.children.handOver(now)
	r.VaryPeriods(now)
	if s.scope.fromStart() && !s.children.sampled() {
		s.samples.fitStack(now)
	}
	s.choice.checkIfDue(now)
}

// DrainIfDue implements [engine.Running]. The first tick tracks all threads, which takes 0.3 s with 5,000; the
// kernel's buffers have room for 32 ms at 1,000 Hz.
func (s *Engine) DrainIfDue() (buffers bool) {
	if !s.stream.on() {
		return false
	}
	now := procmem.Now()
	if now-s.stream.drained < drainAfter*s.stream.reader.Period() {
		return true
	}
	if s.showAll() {
		s.host.NoteObserved(now)
	}
	s.TakeAll(now)
	s.samples.readClocks(now)
	return true
}

// EndTick implements [engine.Running].
func (s *Engine) EndTick() { s.claims.overdue() }

// Hold implements [engine.Holder].
func (s *Engine) Hold() {
	s.stream.hold()
	s.clocks.pause()
}

// Resume implements [engine.Holder].
func (s *Engine) Resume(now int64) {
	s.choice.restartSilence(now)
	s.stream.release()
	s.clocks.resume()
}

// BeforeLast implements [engine.Ender]. It ensures that the recording has a stack.
func (s *Engine) BeforeLast(now int64) {
	s.TakeAll(now)
	s.choice.ensureOne()
}

// End implements [engine.Ender].
func (s *Engine) End() {
	s.children.end(false)
	if s.stream.reader != nil {
		s.stream.reader.Pause()
	}
	s.clocks.pause()
}

// Stats implements [engine.Running].
func (s *Engine) Stats(o *runstats.Observed) { s.choice.stats(o) }
