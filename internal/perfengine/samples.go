// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"slices"
	"time"

	"prywalk/internal/attribute"
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
	"prywalk/internal/schedule"
	"prywalk/ptrace"
)

// Engine implements [engine.Running] by the kernel's samples, from the reader to the outbox.
type Engine struct {
	*engine.Run
	host     engine.Host
	opts     engine.Options
	choice   *choice
	own      *ownSamples
	children *children
	clocks   *childClocks

	reader     *perfevents.Reader // nil: running threads are stopped
	paused     bool               // no process is sampled now
	held       bool               // the same, until Resume
	take       func(*perfevents.Record)
	procs      []*process
	sampled    map[int]*process // by process id
	unassigned []unassignedSample
	length     perfevents.Length
	drained    int64 // last reading, CLOCK_MONOTONIC ns
	rateSet    int64 // last [Engine.SetRate] that changed it, CLOCK_MONOTONIC ns
	asked      float64
	crowded    []*thread
	n          sampleCounts
}

type process struct {
	*engine.Process
	threads    map[int]*thread
	on, served bool                    // sampled now; sampled once
	left       handover.FallbackReason // what samples lacked, if given up
	insisted   handover.FallbackReason // what samples lack, if taken all the same
	// received counts its usable samples; receivedBefore and ranBefore (CPU time, ns) are as of the last check.
	received, receivedBefore, ranBefore int64
}

type thread struct {
	*engine.Thread
	proc     *process
	waiting  []*observe.RawSample
	read     sample.Reading
	begun    bool
	deep     bool // stopped although sampled: its stack is too deep
	ended    bool
	followed followed
}

func processOf(p *engine.Process) *process {
	of, _ := p.Engine.(*process)
	return of
}

func threadOf(th *engine.Thread) *thread {
	of, _ := th.Engine.(*thread)
	return of
}

type sampleCounts struct {
	taken    int64
	received int64
	unusable int64 // without user registers
	dropped  int64
	deep     int64
}

// unassignedSample is a sample of a thread that is not tracked yet.
type unassignedSample struct {
	proc *process
	tid  int
	raw  *observe.RawSample
}

const (
	// checkEvery is the interval of checks whether samples come, ns.
	checkEvery = 1e9
	// unassignedFor is how long a sample waits for its thread, ns: two listings.
	unassignedFor = 100e6
	// mostUnassigned and mostSamples bound the waiting samples, in all and for one thread.
	mostUnassigned = 256
	mostSamples    = 1024
	// manySamples is the number of waiting samples at which a thread is observed at once.
	manySamples = 8
	// mostWaitingBytes is the size of unwalked copies at which samples are dropped, in bytes.
	mostWaitingBytes = 64 << 20
	// crowdedBy is the number of samples of a thread at which its clocks are read within a tick.
	crowdedBy = 32
	// drainAfter is after how many periods the buffers are read within a tick. They have room for 32 samples.
	drainAfter = 8
	drainStep  = time.Millisecond
)

func newEngine(r *engine.Run, h engine.Host, o engine.Options, choose bool) *Engine {
	s := &Engine{
		Run: r, host: h, opts: o, sampled: map[int]*process{},
	}
	s.take = s.takeRecord
	s.own, s.children, s.clocks = &ownSamples{Engine: s}, &children{Engine: s}, &childClocks{Engine: s}
	s.choice = &choice{Engine: s, choose: choose}
	return s
}

func (s *Engine) begin(events, descendants *perfevents.Reader) {
	follows := s.opts.Children && !s.opts.Selected
	if events != nil {
		s.reader, s.asked = events, events.Freq()
		events.Want(s.wants)
		events.Targets(s.isTarget)
		if follows && !events.Own() {
			s.children.begin()
		}
		events.Resume()
	}
	if follows && !s.ShowsChildren() {
		s.clocks.begin(descendants)
	}
}

func (s *Engine) wants(pid int) bool { return s.sampled[pid] != nil || s.ShowsChildren() }

func (s *Engine) isTarget(pid int) bool {
	return s.sampled[pid] != nil || s.ShowsChildren() && s.children.table.Find(pid) != nil
}

// ShowsChildren implements [engine.Running].
func (s *Engine) ShowsChildren() bool { return s.children.table != nil }

// CountsChildren implements [engine.Running].
func (s *Engine) CountsChildren() bool { return s.clocks.reader != nil }

// ReportChildren implements [engine.Running].
func (s *Engine) ReportChildren(now int64) { s.clocks.report(now) }

func (s *Engine) showAll() bool {
	return !s.reader.Own() && !slices.ContainsFunc(s.procs, func(p *process) bool { return !p.on })
}

// Complete implements [engine.Running].
func (s *Engine) Complete() bool {
	return s.reader != nil && !s.paused && !s.choice.leftChildren && s.showAll()
}

// TakeAll implements [engine.Running].
func (s *Engine) TakeAll(now int64) {
	if s.reader == nil || s.paused {
		return
	}
	before := s.drained
	s.drained = now
	ptrace.Pin() // an allocation accepts preemption
	s.children.drain(s.reader, s.take)
	ptrace.Unpin()
	if before != 0 && now-before > s.reader.Room() {
		s.choice.restartSilence(now)
	}
	s.children.handOver(now)
	s.reader.VaryPeriods(now)
	s.fitStack(now)
	s.choice.checkIfDue(now)
}

func (s *Engine) takeRecord(r *perfevents.Record) {
	p := s.sampled[r.PID]
	if r.Kind != perfevents.Sampled {
		return
	}
	if p == nil {
		s.children.keep(r)
		return
	}
	th := p.threads[r.TID]
	if th != nil {
		th.followed.received++
	}
	if s.n.received++; r.Time < s.host.GapEnd() {
		return // of a gap without readings
	}
	kernelOnly := th != nil && th.NoUser
	if !r.Usable() && !kernelOnly {
		s.n.unusable++
		return
	}
	p.received++
	if !kernelOnly {
		s.length.Sampled(r)
	}
	switch {
	case th == nil:
		s.keepUnassigned(p, r)
	case !th.Observed.Sampled():
	case len(th.waiting) >= mostSamples || s.Pool.Waiting() > mostWaitingBytes:
		s.n.dropped++
	default:
		s.n.taken++
		raw := s.rawSample(r)
		if th.NoUser {
			raw.NoUserSpace()
		}
		th.waiting = append(th.waiting, raw)
		if len(th.waiting) == crowdedBy {
			s.crowded = append(s.crowded, th)
		}
		if n := len(th.waiting); n >= manySamples || p.Shared.Moving(r.Time) || !th.Idle.MayWait() {
			s.Idle.Wake(&th.Idle)
		}
	}
}

func (s *Engine) keepUnassigned(p *process, r *perfevents.Record) {
	if s.opts.Selected {
		return
	}
	s.n.taken++
	p.ListChange = true
	s.Rest.Changed(r.Time)
	if len(s.unassigned) >= mostUnassigned {
		s.n.dropped++
		return
	}
	s.unassigned = append(s.unassigned, unassignedSample{p, r.TID, s.rawSample(r)})
}

func (s *Engine) assign(th *thread) {
	kept := s.unassigned[:0]
	for _, u := range s.unassigned {
		if u.tid != th.Observed.TID || u.proc != th.proc {
			kept = append(kept, u)
			continue
		}
		th.waiting = append(th.waiting, u.raw)
		if th.Shared.CreatedAt != 0 {
			th.Shared.CreatedAt = min(th.Shared.CreatedAt, u.raw.At)
		}
	}
	clear(s.unassigned[len(kept):])
	s.unassigned = kept
}

// of is an ended process; nil: samples that wait too long.
func (s *Engine) claimUnassigned(of *process) {
	kept := s.unassigned[:0]
	for _, u := range s.unassigned {
		if u.proc == of || of == nil && (s.Ending || s.Tick.At-u.raw.At > unassignedFor) {
			s.claim(handover.Event{Kind: handover.SampledEnded, Proc: u.proc.Shared, RawSample: u.raw})
		} else {
			kept = append(kept, u)
		}
	}
	clear(s.unassigned[len(kept):])
	s.unassigned = kept
}

func (s *Engine) claim(e handover.Event) {
	s.Sampled++
	s.Claimed++
	s.Tick.Copies += e.RawSample.Waits()
	e.Length = e.RawSample.Period
	s.Out.Add(e)
}

// ClocksRead takes the clocks of a thread at a tick, and reports its samples. asleep: it sleeps now.
func (s *Engine) ClocksRead(of *engine.Thread, now sample.Reading, asleep bool) {
	if th := threadOf(of); th != nil {
		s.clocksRead(th, now, asleep)
	}
}

func (s *Engine) clocksRead(th *thread, now sample.Reading, asleep bool) {
	before := th.read
	if before.Wall == 0 {
		before = th.firstReading(now)
	}
	now.Wall = max(now.Wall, before.Wall) // its samples may be younger than the tick
	if th.read = now; len(th.waiting) == 0 {
		return
	}
	if asleep && th.Steady.Is() && s.Tick.Rested {
		now = before.UntilAsleep(now)
	}
	for i := range th.waiting {
		for j := i; j > 0 && th.waiting[j].At < th.waiting[j-1].At; j-- {
			th.waiting[j], th.waiting[j-1] = th.waiting[j-1], th.waiting[j]
		}
	}
	for i, raw := range th.waiting {
		s.report(th, raw, before.Between(now, raw.At))
		th.waiting[i] = nil
	}
	th.waiting = th.waiting[:0]
}

func (th *thread) firstReading(now sample.Reading) sample.Reading {
	if !th.FromZero {
		return now
	}
	at := now.Wall - now.CPU - now.RunQueue
	for _, s := range th.waiting {
		at = min(at, s.At)
	}
	return sample.Reading{Wall: at}
}

func (s *Engine) report(th *thread, raw *observe.RawSample, at sample.Reading) {
	raw.At = at.Wall
	raw.Sched = procmem.SchedStat{CPU: uint64(at.CPU), RunQueue: uint64(at.RunQueue)}
	th.begun = true
	s.Sampled++
	s.Tick.Copies += raw.Waits()
	s.Out.Add(handover.Event{
		Kind: handover.Sampled, Thread: th.Shared, RawSample: raw, Before: th.Idle.TakeUnchanged(),
		Length: raw.Period, Soon: th.proc.Shared.Moving(raw.At),
	})
}

func (s *Engine) reportWaiting(th *thread) {
	for i, raw := range th.waiting {
		s.report(th, raw, th.read)
		th.waiting[i] = nil
	}
	th.waiting = nil
}

// Runs implements [engine.Observer].
func (s *Engine) Runs(of *engine.Thread) {
	th := threadOf(of)
	now := procmem.ReadingAt(th.Observed.LastSched(), procmem.Now())
	s.clocksRead(th, now, false)
	th.Steady.Runs(schedule.Clocks(now))
	if !th.begun {
		th.begun = true
		s.Out.Add(handover.Event{Kind: handover.SeenRunning, Thread: th.Shared, Now: now})
	}
	s.Idle.HasObserved(&th.Idle, false, th.FromZero, th.Observed.LastSched())
}

// BeforeObservation implements [engine.Observer].
func (s *Engine) BeforeObservation(of *engine.Thread) {
	if s.reader != nil && s.reader.Own() {
		s.own.judge(threadOf(of))
	}
}

// Observed implements [engine.Observer].
func (s *Engine) Observed(of *engine.Thread, raw *observe.RawSample) {
	th := threadOf(of)
	if th.begun = true; raw.How != observe.ByStop || raw.State != sample.Running {
		return
	}
	if !th.deep && th.Observed.StoppedForDepth() {
		th.deep = true
		s.n.deep++
	}
	s.own.follow(th, raw)
}

// ProcessAttached implements [engine.Follower].
func (s *Engine) ProcessAttached(of *engine.Process) {
	p := &process{Process: of, threads: map[int]*thread{}}
	of.Engine = p
	s.procs = append(s.procs, p)
	s.choice.chooseFor(p)
	s.children.processAttached(p)
	s.clocks.processAttached(p)
}

// ThreadAttached implements [engine.Follower].
func (s *Engine) ThreadAttached(in *engine.Process, of *engine.Thread) {
	p := processOf(in)
	th := &thread{Thread: of, proc: p}
	of.Engine, p.threads[of.Observed.TID] = th, th
	if !p.on || s.reader.Own() {
		return
	}
	th.Observed.SetSampled(s.reader.Stack())
	s.assign(th)
}

// ThreadEnded implements [engine.Follower].
func (s *Engine) ThreadEnded(of *engine.Thread, alive bool) {
	th := threadOf(of)
	th.ended = true
	of.Engine = nil
	if p := th.proc; p.threads[of.Observed.TID] == th {
		delete(p.threads, of.Observed.TID)
	}
	if alive {
		s.reportWaiting(th)
	}
	for i, raw := range th.waiting {
		s.claim(handover.Event{Kind: handover.SampledEnded, Thread: th.Shared, Proc: th.proc.Shared, RawSample: raw})
		th.waiting[i] = nil
	}
	th.waiting = nil
	s.own.unfollow(th)
}

// ProcessEnded implements [engine.Follower].
func (s *Engine) ProcessEnded(of *engine.Process, end *attribute.ProcessEnd) {
	p := processOf(of)
	of.Engine = nil
	s.procs = slices.DeleteFunc(s.procs, func(q *process) bool { return q == p })
	s.forget(p)
	s.children.processEnded(p)
	s.claimUnassigned(p)
	s.clocks.processEnded(p, end)
}

// forget drops a process: its id may be reused.
func (s *Engine) forget(p *process) {
	if s.sampled[p.Target.PID] == p {
		delete(s.sampled, p.Target.PID)
	}
}

func (s *Engine) fitStack(now int64) {
	if s.reader.Own() || s.ShowsChildren() {
		return
	}
	for _, p := range s.procs {
		if p.on {
			s.length.Deepest = max(s.length.Deepest, p.Shared.TakeUsedStack())
		}
	}
	s.reader.FitStack(&s.length, now)
}

// The first tick attaches every thread: 0.3 s with 5,000. The kernel's buffers have room for 32 ms at 1,000 Hz.

// DrainIfDue takes the samples between two observations.
func (s *Engine) DrainIfDue() {
	if s.reader == nil || s.paused {
		return
	}
	now := procmem.Now()
	if now-s.drained < drainAfter*s.reader.Period() {
		return
	}
	if s.showAll() {
		s.host.Observe(now)
	}
	s.TakeAll(now)
	for _, th := range s.crowded {
		if th.ended || th.Observed.Pending() || len(th.waiting) == 0 {
			continue
		}
		if sched, err := th.Observed.Files().SchedStat(); err == nil {
			s.clocksRead(th, procmem.ReadingAt(sched, now), false)
		}
	}
	s.crowded = s.crowded[:0]
}

// AwaitDraining waits until done is closed, and reads the buffers meanwhile.
func (s *Engine) AwaitDraining(done <-chan struct{}) {
	if s.reader == nil {
		<-done
		return
	}
	timer := time.NewTicker(drainStep)
	defer timer.Stop()
	for {
		s.DrainIfDue()
		select {
		case <-done:
			return
		case <-timer.C:
		}
	}
}

func (s *Engine) rawSample(r *perfevents.Record) *observe.RawSample {
	raw := s.Observer.FromSample(r)
	raw.Period = s.reader.PeriodAt(r.Time)
	return raw
}

// The rate is changed at most every rateEvery ns, and by rateStep at least.
const (
	rateEvery = 1e9
	rateStep  = 1.25
)

// SetRate implements [engine.Running]. Samples have the period of their time.
func (s *Engine) SetRate(now int64, hz float64) {
	if s.reader == nil || hz == s.reader.Freq() || now-s.rateSet < rateEvery {
		return
	}
	if by := hz / s.reader.Freq(); by < rateStep && by > 1/rateStep && hz != s.asked {
		return
	}
	if s.rateSet = now; !s.paused {
		s.TakeAll(now)
	}
	if s.reader == nil || !s.reader.SetFreq(hz) {
		return
	}
	s.choice.restartSilence(now)
	for _, p := range s.procs {
		for _, th := range p.threads {
			th.followed.stale = true
		}
	}
}

// Choose implements [engine.Running].
func (s *Engine) Choose() { s.choice.chooseAll() }

// Observes implements [engine.Running].
func (s *Engine) Observes(p *engine.Process) bool {
	of := processOf(p)
	return of != nil && of.on
}

// EndTick implements [engine.Running].
func (s *Engine) EndTick() { s.claimUnassigned(nil) }

// Hold implements [engine.Running].
func (s *Engine) Hold() {
	if s.held = s.reader != nil && !s.paused; s.held {
		s.reader.Pause()
	}
	s.clocks.pause()
}

// Resume implements [engine.Running].
func (s *Engine) Resume(now int64) {
	s.choice.restartSilence(now)
	if s.held && s.reader != nil {
		s.reader.Resume()
	}
	s.held = false
	s.clocks.resume()
}

// BeforeLast ensures that the recording has a stack.
func (s *Engine) BeforeLast(now int64) { s.choice.ensureOne(now) }

// EndChildren implements [engine.Running].
func (s *Engine) EndChildren() { s.children.end(false) }

// End ends the samples.
func (s *Engine) End() {
	if s.reader != nil {
		s.reader.Pause()
	}
	s.clocks.pause()
}

// Stats implements [engine.Running].
func (s *Engine) Stats(o *runstats.Observed) { s.choice.stats(o) }
