// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// stops begins observations, and finishes requested stops during every wait of the tracer. An interrupt cannot be
// withdrawn: a thread whose stop was cancelled stops when its system call ends, maybe hours later, and a wait must
// detach it.
//
// Code between an interrupt and the wait for it is pinned ([ptrace.Pin]): if the goroutine lost its P, the thread would
// stay stopped.
type stops struct {
	shared  *target.SharedState
	engine  target.Engine
	pace    *pacer
	counts  *counts
	cpus    *cpuChooser
	results *results
	pending map[*observe.Thread]*target.Thread

	// These are of the present tick.
	spinsLeft  int // busy-waits that may still fail
	awakeSince ptrace.Moment
}

// After an interrupt the tracer first waits busily, for [ptrace.SpinFor]. In each tick at most maxSpins of these waits
// may end without a stop, and these take at most 1/spinShare of the tick.
const (
	maxSpins  = 8
	spinShare = 8
)

func (s *stops) beginTick(now, deadline ptrace.Moment) {
	s.spinsLeft = int(min(max(int64(deadline.Sub(now)/spinShare/ptrace.SpinFor), 1), maxSpins))
	s.awakeSince = now
	s.shared.Observer.Preemption().BeginTick()
}

// Precondition: the OS thread is pinned until pollBegun returns.
func (s *stops) beginObservation(th *target.Thread) (observe.Outcome, *observe.RawSample, error) {
	s.counts.countAttempt()
	outcome, raw, err := s.shared.Observer.Begin(th.Observed)
	if outcome == observe.Pending {
		s.pending[th.Observed] = th
	}
	return outcome, raw, err
}

// take takes the result of a pending stop; observed nil, and false: there is none.
func (s *stops) take(observed *observe.Thread, raw *observe.RawSample, err error) bool {
	if observed == nil {
		return false
	}
	th := s.endPending(observed)
	if err != nil {
		s.results.takeFailure(th, err)
		return true
	}
	s.results.takeSample(th, raw)
	if observed.ManyCalls() && !observed.IsKernelSampled() {
		s.preferCPUOf(observed)
	}
	return true
}

// endPending returns the thread of a stop that is no longer pending.
func (s *stops) endPending(observed *observe.Thread) *target.Thread {
	th := s.pending[observed]
	delete(s.pending, observed)
	s.results.takeLostStops(th)
	return th
}

// pollBegun finishes the threads that have stopped. If outcome is Pending, it busy-waits for [ptrace.SpinFor].
func (s *stops) pollBegun(observed *observe.Thread, outcome observe.Outcome) {
	until := ptrace.Moment(0)
	if outcome == observe.Pending && !observed.AwaitsTracer() && s.spinsLeft > 0 {
		until = ptrace.Now().Add(ptrace.SpinFor)
	}
	if s.take(s.shared.Observer.Stops.NextStopped(until)) {
		s.takeStopped()
	} else if until != 0 {
		s.spinsLeft--
	}
}

func (s *stops) takeStopped() {
	for s.take(s.shared.Observer.Stops.NextStopped(0)) {
	}
}

func (s *stops) cancel(observed *observe.Thread) {
	if s.shared.Observer != nil && s.shared.Observer.Stops.Cancel(observed) {
		s.endPending(observed)
		s.counts.countPostponed()
	}
}

// # Waits

func (s *stops) poll() {
	if s.shared.Observer == nil || s.shared.Observer.Stops.Attached() == 0 {
		return
	}
	ptrace.Pin()
	s.takeStopped()
	ptrace.Unpin()
}

// finishUntil returns at the deadline or if no thread is attached. Under a CPU quota the aggregator waits
// meanwhile.
func (s *stops) finishUntil(deadline ptrace.Moment) {
	if s.pace.underQuota() && s.shared.Observer.Stops.PendingStops() > 0 {
		s.shared.QuotaGate.Close()
	}
	if s.shared.Observer.Stops.Attached() > 0 {
		ptrace.Pin()
		for s.take(s.shared.Observer.Stops.Next(deadline)) {
		}
		ptrace.Unpin()
	}
	if s.pace.underQuota() && s.shared.Observer.Stops.PendingStops() == 0 {
		s.shared.QuotaGate.Open()
	}
}

// endTick does not wait on the CPU of a target's thread: only a wake-up by a timer gives an exact sample there.
func (s *stops) endTick(now, deadline ptrace.Moment) {
	if s.cpus.mayMove() && !s.shared.Ending {
		deadline = now
	}
	s.finishUntil(deadline)
	cpu, inTheWay := s.shared.Observer.Preemption().PreemptedOn()
	s.cpus.endTick(now, inTheWay, cpu)
	s.poll()
}

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

const pollStep = 200 * time.Microsecond

// pollAndSleep returns false if no thread is attached. Precondition: not pinned.
func (s *stops) pollAndSleep() bool {
	if s.shared.Observer == nil || s.shared.Observer.Stops.Attached() == 0 {
		return false
	}
	s.finishUntil(ptrace.Now())
	procmem.SleepUntil(int64(ptrace.Now().Add(pollStep)))
	return true
}

const (
	// In the first half of its period a tick sleeps for stayFor, after as much work.
	stayFor     = 150 * time.Microsecond
	closeTicks  = 4 * time.Millisecond  // least period for that
	longestStay = 10 * time.Millisecond // half of the watchdog's limit (package ptrace)
)

// yieldCPU may sleep. Without an observer nothing was sampled yet.
func (s *stops) yieldCPU() {
	if s.shared.Observer == nil {
		return
	}
	now, period := ptrace.Now(), s.shared.Tick.Period
	early := period >= closeTicks && now.Sub(s.shared.Tick.At) < period/2 && !s.shared.Ending
	if stays := now.Sub(s.awakeSince); stays >= stayFor && early || stays >= longestStay {
		s.awakeSince = s.pause(now.Add(stayFor))
	}
}

// pause finishes stops, and sleeps until a moment.
func (s *stops) pause(until ptrace.Moment) (now ptrace.Moment) {
	s.finishUntil(until)
	if ptrace.Now() < until {
		ptrace.Pin()
		s.shared.Observer.Preemption().Nap(until)
		ptrace.Unpin()
	}
	s.engine.DrainIfDue()
	now = ptrace.Now()
	s.shared.Observer.Preemption().Woken(now) // it may be on another CPU
	return now
}

// finishOrCancelAll precedes a stop of this process.
func (s *stops) finishOrCancelAll() {
	ptrace.Pin()
	o := s.shared.Observer
	for until := o.Stops.AcknowledgeSuspend(); o.Stops.PendingStops() > 0 && s.take(o.Stops.Next(until)); {
	}
	ptrace.Unpin()
	s.cancelAll()
}

func (s *stops) cancelAll() {
	for observed := range s.pending {
		s.shared.Observer.Stops.Cancel(observed)
		s.take(observed, nil, ptrace.ErrTimeout)
	}
	s.shared.QuotaGate.Open()
}

// # The CPU on which the tracer sleeps

func (s *stops) chooseCPUs(ctl *ptrace.Controller) { s.cpus = newCPUChooser(ctl.Sleeper.ForgetAlarm) }

func (s *stops) canMove() bool { return s.cpus.canMove() }

func (s *stops) leaveCPU() {
	if s.shared.Observer.Stops.Attached() > 0 {
		return // a late stop needs the tracer
	}
	s.cpus.leave(procmem.CPU())
	s.shared.Observer.Preemption().Woken(ptrace.Now())
}

// preferCPUOf prefers a thread's CPU, or avoids it if the thread outranks the tracer.
func (s *stops) preferCPUOf(observed *observe.Thread) {
	if cpu, outranks := s.shared.Observer.Preemption().LastCPU(observed); outranks {
		s.cpus.avoid(cpu)
	} else {
		s.cpus.prefer(cpu)
	}
}

func (s *stops) forgetWake() {
	if s.cpus.mayMove() {
		s.shared.Observer.Preemption().ForgetWake()
	}
}
