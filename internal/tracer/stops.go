// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/engine"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// stops begins observations, and finishes requested stops during every wait of the tracer. A given-up stop cannot be
// cancelled: the thread stops when its system call ends, maybe hours later, until this OS thread detaches from it or
// ends.
type stops struct {
	*engine.SharedState
	engine   engine.Engine
	pace     *pace
	counts   *counts
	cpus     *skid.CPUChooser
	targets  map[*observe.Thread]stopTarget
	finish   func(stopTarget, *observe.RawSample, error)      // uses what a stop has read
	finished func(*observe.Thread, *observe.RawSample, error) // the method stopFinished, bound once

	// Of the present tick:
	spinsLeft  int   // busy-waits that may still fail
	awakeSince int64 // since when the tracer has its CPU, CLOCK_MONOTONIC ns
}

// stopTarget is a thread of a tracked process, or the first thread of an untracked one.
type stopTarget struct {
	thread *thread
	child  *newChild
}

func newStops(
	s *engine.SharedState, e engine.Engine, p *pace, c *counts, finish func(stopTarget, *observe.RawSample, error),
) *stops {
	made := &stops{
		SharedState: s, engine: e, pace: p, counts: c, cpus: &skid.CPUChooser{}, finish: finish,
		targets: map[*observe.Thread]stopTarget{},
	}
	made.finished = made.stopFinished
	return made
}

// A running thread usually stops within spinFor ns of its interrupt. In a tick at most maxSpins busy-waits may fail,
// for an eighth of it.
const (
	spinFor  = 40e3
	maxSpins = 8
)

// beginTick begins a tick that lasts from now until the deadline, CLOCK_MONOTONIC ns.
func (s *stops) beginTick(now, deadline int64) {
	s.spinsLeft = int(min(max((deadline-now)/8/spinFor, 1), maxSpins))
	s.awakeSince = now
}

// begin begins an observation of a target's thread ([observe.Observer.Begin]). Precondition: the OS thread is pinned,
// as no preemption is accepted between the interrupt and pollBegun.
func (s *stops) begin(of stopTarget, observed *observe.Thread) (observe.Outcome, *observe.RawSample, error) {
	s.counts.noteBegin()
	outcome, raw, err := s.Observer.Begin(observed)
	if outcome == observe.Pending {
		s.targets[observed] = of
	}
	return outcome, raw, err
}

// pollBegun finishes the threads that have stopped, after an observation was begun with this outcome. It busy-waits for
// spinFor if the thread was interrupted.
func (s *stops) pollBegun(observed *observe.Thread, outcome observe.Outcome) {
	if outcome != observe.Pending || observed.AwaitsTracer() || s.spinsLeft <= 0 {
		s.Observer.FinishStopped(0, s.finished)
		return
	}
	if s.Observer.FinishStopped(procmem.Now()+spinFor, s.finished) == 0 {
		s.spinsLeft--
	}
}

// giveUp gives up a thread's stop, if one is pending.
func (s *stops) giveUp(observed *observe.Thread) {
	if s.Observer != nil && s.Observer.GiveUp(observed) {
		delete(s.targets, observed)
		s.counts.notePostponed()
	}
}

func (s *stops) stopFinished(observed *observe.Thread, raw *observe.RawSample, err error) {
	if ns := observed.TakeLostStop(); ns > 0 {
		s.counts.noteLostStop(observed, s.pace.chargeStop(ns))
	}
	of := s.targets[observed]
	delete(s.targets, observed)
	s.finish(of, raw, err)
}

// countObservation counts a stop or a passive read.
func (s *stops) countObservation(observed *observe.Thread, raw *observe.RawSample) {
	if raw.How == observe.ByStop {
		raw.StopTime = s.pace.chargeStop(raw.StopTime)
	}
	s.counts.noteSample(observed, raw)
}

// # Waits

// poll finishes the threads that have stopped, without a wait.
func (s *stops) poll() {
	if s.Observer == nil || s.Observer.Pending() == 0 {
		return
	}
	ptrace.Pin()
	s.Observer.FinishStopped(0, s.finished)
	ptrace.Unpin()
}

// finishUntil finishes stops until the deadline (CLOCK_MONOTONIC, ns) or until none is pending. Under a CPU quota the
// aggregator waits meanwhile.
func (s *stops) finishUntil(deadline int64) {
	if s.pace.underQuota() && s.Observer.Waiting() > 0 {
		s.QuotaGate.Close()
	}
	if s.Observer.Pending() > 0 {
		ptrace.Pin()
		s.Observer.Collect(deadline, s.finished)
		ptrace.Unpin()
	}
	if s.pace.underQuota() && s.Observer.Waiting() == 0 {
		s.QuotaGate.Open()
	}
}

// endTick waits for pending stops, unless the tracer sleeps on the CPU of a target's thread: its timer preempts that
// thread only if the tracer sleeps.
func (s *stops) endTick(now, deadline int64) {
	if s.cpus.MayMove() && !s.Ending {
		deadline = now
	}
	s.finishUntil(deadline)
	cpu, inTheWay := s.Observer.PreemptedOn()
	s.cpus.EndTick(now, inTheWay, cpu)
	s.poll()
}

// await finishes stops, and takes an engine's observations, until done is closed.
func (s *stops) await(done <-chan struct{}) {
	for s.pollAndSleep() {
		select {
		case <-done:
			return
		default:
		}
	}
	s.drainUntil(done)
}

const drainStep = time.Millisecond

// drainUntil takes an engine's observations until done is closed.
func (s *stops) drainUntil(done <-chan struct{}) {
	timer := time.NewTicker(drainStep)
	defer timer.Stop()
	for {
		if !s.engine.DrainIfDue() {
			<-done
			return
		}
		select {
		case <-done:
			return
		case <-timer.C:
		}
	}
}

const pollStep = 200e3

// pollAndSleep finishes stops, and sleeps for pollStep ns, unpinned. It returns false if no stop is pending.
func (s *stops) pollAndSleep() bool {
	if s.Observer == nil || s.Observer.Pending() == 0 {
		return false
	}
	s.finishUntil(procmem.Now())
	procmem.SleepUntil(procmem.Now() + pollStep)
	return true
}

// In ns. After stayFor a tick sleeps for as long, so that other threads of its CPU run, unless the period is below
// closeTicks. longestStay without a sleep is half of the watchdog's limit (package ptrace).
const (
	stayFor     = 150e3
	closeTicks  = 4e6
	longestStay = 10e6
)

// yieldCPU sleeps if the tick has kept its CPU for long.
func (s *stops) yieldCPU() {
	now, period := procmem.Now(), s.Tick.Period
	early := period >= closeTicks && now-s.Tick.At < period/2 && !s.Ending
	if stays := now - s.awakeSince; stays >= stayFor && early || stays >= longestStay {
		s.awakeSince = s.pause(now + stayFor)
	}
}

// pause finishes stops, and sleeps until a time of CLOCK_MONOTONIC. It returns the present time.
func (s *stops) pause(until int64) (now int64) {
	s.finishUntil(until)
	if procmem.Now() < until {
		ptrace.Pin()
		s.Observer.Nap(until)
		ptrace.Unpin()
	}
	s.engine.DrainIfDue()
	now = procmem.Now()
	s.Observer.Woken(now) // it may be on another CPU
	return now
}

// releaseAll finishes or gives up all stops before this process is stopped.
func (s *stops) releaseAll() {
	ptrace.Pin()
	s.Observer.Leave(s.finished)
	ptrace.Unpin()
	s.QuotaGate.Open()
}

// giveUpAll gives up all stops at the end of the recording.
func (s *stops) giveUpAll() {
	s.Observer.Abort(s.finished)
	s.QuotaGate.Open()
}

// # The CPU on which the tracer sleeps

// chooseCPUs makes the choice begin. ctl is of this OS thread.
func (s *stops) chooseCPUs(ctl *ptrace.Controller) { s.cpus = skid.NewCPUChooser(ctl.NoteMove) }

// preferCPUOf makes the tracer sleep on the CPU of a running thread.
func (s *stops) preferCPUOf(observed *observe.Thread) { s.cpus.Prefer(s.Observer.LastCPU(observed)) }

// mayPreemptTarget reports whether the tracer's wake-up may have preempted a preferred thread.
func (s *stops) mayPreemptTarget() bool {
	return s.cpus.MayShareTargetCPU() && s.Observer.WokenByTimer()
}

// forgetWake notes that the tracer has worked since its sleep, if that was on the CPU of a target's thread.
func (s *stops) forgetWake() {
	if s.cpus.MayMove() {
		s.Observer.ForgetWake()
	}
}
