// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"
	"time"

	"prywalk/internal/handover"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// stops finishes the requested stops, during every wait of the tracer. A given-up stop cannot be cancelled: the thread
// stops when its system call ends, maybe hours later, until this OS thread detaches from it or ends.
type stops struct {
	*state
	drain   func() (buffers bool) // [engine.Engine.DrainIfDue]
	onStop  func(*observe.Thread, *observe.RawSample, error)
	targets map[*observe.Thread]stopTarget

	// Of the present tick:
	spinsLeft  int   // busy-waits that may still fail
	awakeSince int64 // since when the tracer has its CPU, CLOCK_MONOTONIC ns
	paused     int64 // wait for the aggregator, ns
}

type stopTarget struct {
	thread *thread
	child  *newChild
}

func (s *stops) takeTarget(observed *observe.Thread) stopTarget {
	of := s.targets[observed]
	delete(s.targets, observed)
	return of
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
	s.paused = 0
}

// serve finishes the threads that have stopped. It busy-waits for spinFor if a thread was just interrupted.
// Precondition: the OS thread is pinned.
func (s *stops) serve(justInterrupted bool) {
	until := int64(0)
	if justInterrupted && s.spinsLeft > 0 {
		until = procmem.Now() + spinFor
	}
	if n := s.Observer.FinishStopped(until, s.onStop); n == 0 && until > 0 {
		s.spinsLeft--
	}
}

func (s *stops) serveStopped() {
	if s.Observer == nil || s.Observer.Pending() == 0 {
		return
	}
	ptrace.Pin()
	s.serve(false)
	ptrace.Unpin()
}

// collect finishes stops until the deadline (CLOCK_MONOTONIC, ns) or until none is pending. Under a CPU quota the
// aggregator waits meanwhile.
func (s *stops) collect(deadline int64) {
	if s.pace.quota != nil && s.Observer.Waiting() > 0 {
		s.QuotaGate.Close()
	}
	ptrace.Pin()
	s.Observer.Collect(deadline, s.onStop)
	ptrace.Unpin()
	if s.pace.quota != nil && s.Observer.Waiting() == 0 {
		s.QuotaGate.Open()
	}
}

func (s *stops) finishUntil(until int64) {
	if s.Observer.Pending() > 0 {
		s.collect(until)
	}
}

func (s *stops) await(done <-chan struct{}) {
	for s.serveOnce() {
		select {
		case <-done:
			return
		default:
		}
	}
	s.drainUntil(done)
}

const drainStep = time.Millisecond

// drainUntil takes the engine's observations until done is closed.
func (s *stops) drainUntil(done <-chan struct{}) {
	timer := time.NewTicker(drainStep)
	defer timer.Stop()
	for {
		if !s.drain() {
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

func (s *stops) send(b handover.Batch) {
	for !s.Queue.HasRoom() && s.serveOnce() {
	}
	s.Queue.Send(b)
}

const serveStep = 200e3

// serveOnce finishes stops, and sleeps for serveStep, unpinned. It returns false if no stop is pending.
func (s *stops) serveOnce() bool {
	if s.Observer == nil || s.Observer.Pending() == 0 {
		return false
	}
	s.collect(procmem.Now())
	procmem.SleepUntil(procmem.Now() + serveStep)
	return true
}

const sleepStep = 20e6 // between checks of a sleeping tracer, ns

// sleepUntil waits for a time of CLOCK_MONOTONIC, the end of ctx, or an imminent stop of this process.
func sleepUntil(ctx context.Context, ctl *ptrace.Controller, at int64) {
	for {
		left := at - procmem.Now()
		if left <= 0 || ctx.Err() != nil || ptrace.Suspending() {
			return
		}
		ptrace.Pin()
		ctl.SleepUntil(at - max(0, left-sleepStep))
		ptrace.Unpin()
	}
}

// # Copies that wait
const (
	// SomeBacklog, bytes: a tick that has copied more pauses while as much waits for its walks.
	SomeBacklog = 16 << 20
	// MaxBacklog is how many waiting bytes prevent observations and ticks.
	MaxBacklog = 64 << 20
	// handOverEarly is the number of events after which a tick hands over.
	handOverEarly = 64
	// CatchUpFor bounds the pauses of one tick, in ns; catchUpStep is one.
	CatchUpFor  = 1e9
	catchUpStep = 200e3
)

// saturated reports whether the aggregator is far behind, or a garbage collection is due.
func (s *stops) saturated(now int64) bool {
	return !s.Queue.HasRoom() || s.Pool.BytesInUse() > MaxBacklog || s.Garbage.Draining(now)
}

// roomForCopy reports whether a further stack may be copied. It may pause.
func (s *stops) roomForCopy() bool {
	if s.Out.Len() >= handOverEarly {
		s.handOver(s.Tick.At)
	}
	waiting := s.Pool.BytesWaiting()
	s.counts.maxBacklog = max(s.counts.maxBacklog, waiting)
	if waiting > SomeBacklog && s.Tick.Copies > SomeBacklog {
		for s.paused < CatchUpFor && s.Pool.BytesWaiting() > SomeBacklog/2 {
			s.handOver(s.Tick.At)
			began := procmem.Now()
			s.paused += s.pause(began+catchUpStep) - began
		}
	}
	return s.Ending || s.Pool.BytesWaiting() <= MaxBacklog
}

// In ns. After stayFor a tick sleeps for as long, so that other threads of its CPU run, unless the period is below
// closeTicks. longestStay without a sleep is half of the watchdog's limit (package ptrace).
const (
	stayFor     = 150e3
	closeTicks  = 4e6
	longestStay = 10e6
)

func (s *stops) yield() {
	now, period := procmem.Now(), s.Tick.Period
	early := period >= closeTicks && now-s.Tick.At < period/2 && !s.Ending
	if stays := now - s.awakeSince; stays >= stayFor && early || stays >= longestStay {
		s.awakeSince = s.pause(now + stayFor)
	}
}

// pause finishes stops, and sleeps until a time of CLOCK_MONOTONIC.
func (s *stops) pause(until int64) (now int64) {
	s.collect(until)
	if procmem.Now() < until {
		ptrace.Pin()
		s.Observer.Nap(until)
		ptrace.Unpin()
	}
	s.drain()
	now = procmem.Now()
	s.Observer.Woken(now) // it may be on another CPU
	return now
}

func (s *stops) releaseAll() {
	ptrace.Pin()
	s.Observer.Leave(s.onStop)
	ptrace.Unpin()
	s.QuotaGate.Open()
	s.handOver(s.Tick.At)
}
