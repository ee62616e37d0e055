// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"prywalk/internal/sample"
)

// Sample is one sample of a thread.
type Sample struct {
	At      sample.Reading
	Seen    Seen
	OnCPU   bool
	Basis   sample.Basis
	Before  sample.Unchanged // earlier ticks at which the thread was unchanged
	Apart   int64            // time since the tick before, ns
	Sampled bool             // taken by the kernel (perf_event_open)
}

// sharesCPU reports a kernel sample that shares CPU time with others (pendingsamples.go).
func (s *Sample) sharesCPU() bool {
	where := &s.Seen
	return s.Sampled && s.OnCPU && *where == Seen{Stack: where.Stack, State: sample.Running, Stop: where.Stop}
}

// Thread is the account of one thread. The zero value: a thread older than the recording.
type Thread struct {
	// CreatedAt is when it was first listed, CLOCK_MONOTONIC ns; 0: its creation was not observed.
	CreatedAt int64
	Samples   int64 // ticks with a known stack

	clock         Clock
	deferred      []Sample // (firstsamples.go)
	begun         bool
	weights       []sampleWeight
	skidded       skidded
	queuedSamples int64 // samples found in the run queue
	firstAt       int64
	lastAt        int64
}

// Begun reports whether [Thread.Begin] was called.
func (t *Thread) Begun() bool { return t.begun }

// Observed returns the time from the first sample to the last, ns.
func (t *Thread) Observed() int64 { return t.lastAt - t.firstAt }

// Begin begins the account with the clocks at the thread's first sample.
func (t *Thread) Begin(r sample.Reading) {
	t.begun = true
	if t.CreatedAt != 0 {
		t.clock.Begin(t.clocksAtCreation(r))
	}
}

// clocksAtCreation returns the clocks at the creation of a thread with first reading r.
func (t *Thread) clocksAtCreation(r sample.Reading) sample.Reading {
	return sample.Reading{Wall: min(t.CreatedAt, r.Wall-r.CPU-r.RunQueue)}
}

// Add attributes the interval that a sample ends, or defers it (firstsamples.go).
func (t *Thread) Add(s *Sample, gaps Gaps, emit func(Span)) {
	if n := len(t.deferred); n > 0 {
		if now, manyCalls := decideFirst(n, s.At.Wall-t.deferred[0].At.Wall, s.Basis); now {
			t.attributeDeferred(manyCalls, gaps, emit)
		}
	}
	if s.Basis == sample.Undecided || len(t.deferred) > 0 {
		t.deferred = append(t.deferred, *s)
		return
	}
	t.attribute(s, gaps, emit)
}

// Decide attributes the deferred samples as those of a thread with few system calls.
func (t *Thread) Decide(gaps Gaps, emit func(Span)) { t.attributeDeferred(false, gaps, emit) }

func (t *Thread) attributeDeferred(manyCalls bool, gaps Gaps, emit func(Span)) {
	waiting := t.deferred
	t.deferred = nil
	for i := range waiting {
		s := &waiting[i]
		if s.OnCPU && manyCalls && s.Basis != sample.Exact {
			s.OnCPU, s.Basis = false, sample.Skids
		}
		t.attribute(s, gaps, emit)
	}
}

func (t *Thread) attribute(s *Sample, gaps Gaps, emit func(Span)) {
	t.Extend(s.Before, gaps, emit)
	t.count(1, s.At.Wall)
	if t.clock.started {
		t.skipGaps(s.At, s.Seen.State, gaps, emit)
	}
	t.addSample(s, emit)
}

func (t *Thread) skipGaps(at sample.Reading, s sample.State, gaps Gaps, emit func(Span)) {
	if length := gaps.Within(t.clock.Observed(), at.Wall); length > 0 {
		t.clock.Skip(length, at, s, emit)
	}
}

// Extend attributes the time up to the last unchanged tick. Precondition: no sample is deferred.
func (t *Thread) Extend(u sample.Unchanged, gaps Gaps, emit func(Span)) {
	if at := u.Last; u.Ticks > 0 && at.Wall != 0 {
		at.Wall = max(at.Wall, t.clock.last.Wall)
		t.clock.Unchanged(at, u.Ticks, emit)
		t.count(u.Ticks, at.Wall)
	}
}

func (t *Thread) count(samples, at int64) {
	if t.Samples == 0 {
		t.firstAt = at
	}
	t.Samples += samples
	t.lastAt = at
}

// NotStopped attributes time in which the thread was not stopped, as in a call that a stop would abort.
func (t *Thread) NotStopped(left *sample.NotStopped, gaps Gaps, emit func(Span)) {
	t.clock.stopRefused = t.clock.stopRefused || left.Refused
	if !left.Suppressed() {
		return
	}
	t.Decide(gaps, emit)
	if left.InCall.Wall != 0 {
		t.clock.NotStopped(left.InCall, true, emit)
	}
	if left.Other.Wall != 0 {
		t.clock.NotStopped(left.Other, false, emit)
	}
}

// Cut attributes open time for a checkpoint.
func (t *Thread) Cut(gaps Gaps, emit func(Span)) {
	t.Decide(gaps, emit)
	t.release(emit)
	t.clock.Cut(emit)
}

// Settle attributes carried time older than [carryLimit].
func (t *Thread) Settle(emit func(Span)) { t.clock.Settle(emit) }

// Open emits the open time so far, and keeps it open.
func (t *Thread) Open(emit func(Span)) { t.clock.Open(emit) }

// Finish attributes all that is left.
func (t *Thread) Finish(gaps Gaps, emit func(Span)) {
	t.Decide(gaps, emit)
	t.release(emit)
	t.clock.Finish(emit)
}
