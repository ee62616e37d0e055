// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// Sample is one sample of a thread.
type Sample struct {
	At              sample.Reading
	Place           Place
	OnCPU           bool
	Basis           sample.Basis
	UnchangedBefore sample.Unchanged
	SinceLastTick   int64 // ns
	FromKernel      bool  // taken by the kernel (perf_event_open)
}

// sharesCPU reports a kernel sample that shares CPU time with others (pendingsamples.go).
func (s *Sample) sharesCPU() bool {
	where := &s.Place
	return s.FromKernel && s.OnCPU && *where == Place{Stack: where.Stack, State: sample.Running, Stop: where.Stop}
}

// End is the end of a thread's account.
type End struct {
	Alive   bool           // at the recording's end
	AtStart sample.Reading // clocks before the first sample, if older than the recording
	AtEnd   sample.Reading // clocks at the end, if later than the last sample
	// Patience bounds the age of a last sample that takes the time since, ns.
	Patience int64
}

// ThreadAccount is the account of one thread; the zero value: older than the recording.
type ThreadAccount struct {
	// CreatedAt is its first listing, CLOCK_MONOTONIC ns; 0: its creation was not observed.
	CreatedAt int64
	Samples   int64 // ticks with a known stack

	ledger     Ledger
	deferred   []Sample // (firstsamples.go)
	begun      bool
	weights    []sampleWeight
	skidded    skidded
	ranSamples int64 // on a processor or queued
	tickLength int64 // of a sample, ns
	firstAt    int64
	lastAt     int64
}

// Begun reports whether [ThreadAccount.Begin] was called.
func (t *ThreadAccount) Begun() bool { return t.begun }

// ObservedFor returns the time from the first sample to the last, ns.
func (t *ThreadAccount) ObservedFor() int64 { return t.lastAt - t.firstAt }

// Begin begins the account with the clocks at the thread's first sample.
func (t *ThreadAccount) Begin(r sample.Reading) {
	t.begun = true
	if t.CreatedAt != 0 {
		t.ledger.Begin(t.clocksAtCreation(r))
	}
}

// BeginWithoutSample begins the account of a running thread without a known stack.
func (t *ThreadAccount) BeginWithoutSample(r sample.Reading) {
	t.Begin(r)
	if t.CreatedAt == 0 {
		t.ledger.Begin(r)
	}
}

func (t *ThreadAccount) clocksAtCreation(r sample.Reading) sample.Reading {
	return sample.Reading{Wall: min(t.CreatedAt, r.Wall-r.CPU-r.RunQueue)}
}

// Add attributes the interval that a sample ends, or defers it (firstsamples.go).
func (t *ThreadAccount) Add(s *Sample, gaps Gaps, emit func(Span)) {
	if n := len(t.deferred); n > 0 {
		if now, manyCalls := deferredAreDue(n, s.At.Wall-t.deferred[0].At.Wall, s.Basis); now {
			t.attributeDeferredAs(manyCalls, gaps, emit)
		}
	}
	if s.Basis == sample.Undecided || len(t.deferred) > 0 {
		t.deferred = append(t.deferred, *s)
		return
	}
	t.attribute(s, gaps, emit)
}

// AttributeDeferred attributes the deferred samples as those of a thread with few system calls.
func (t *ThreadAccount) AttributeDeferred(gaps Gaps, emit func(Span)) {
	t.attributeDeferredAs(false, gaps, emit)
}

func (t *ThreadAccount) attributeDeferredAs(manyCalls bool, gaps Gaps, emit func(Span)) {
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

func (t *ThreadAccount) attribute(s *Sample, gaps Gaps, emit func(Span)) {
	t.Extend(s.UnchangedBefore, gaps, emit)
	t.countSamples(1, s.At.Wall)
	if t.ledger.started {
		t.skipGaps(s.At, s.Place.State, gaps, emit)
	}
	t.attributeInterval(s, emit)
}

// attributeInterval attributes a sample's interval, and notes its weight if the thread is young.
func (t *ThreadAccount) attributeInterval(s *Sample, emit func(Span)) {
	if s.OnCPU || s.Place.State == sample.Running {
		t.ranSamples++
	}
	if s.SinceLastTick > 0 {
		t.tickLength = s.SinceLastTick
	}
	young := t.CreatedAt != 0 && len(t.weights) < longLife && s.SinceLastTick > 0
	if young && s.Basis == sample.Skids && s.Place.State == sample.Running {
		t.addSkidded(s)
	}
	switch {
	case young && s.OnCPU:
		t.attributeYoung(s, emit)
	case !young && s.sharesCPU():
		t.ledger.AddKernelSample(s.At, s.Place, s.SinceLastTick, emit)
	default:
		t.ledger.Observe(s.At, s.Place, s.OnCPU, emit)
	}
}

// addSkidded adds the weight of a sample without a proven place. Its CPU time goes to the next usable sample.
func (t *ThreadAccount) addSkidded(s *Sample) {
	if t.skidded.count == 0 && len(t.weights) == 0 {
		t.skidded.firstWeight = s.SinceLastTick - s.At.CPU
	}
	t.skidded.count++
	t.skidded.weight += s.SinceLastTick
}

// attributeYoung attributes at most the time since the last tick, and notes the rest of that as the sample's weight.
func (t *ThreadAccount) attributeYoung(s *Sample, emit func(Span)) {
	tick := s.SinceLastTick
	got, rest := t.ledger.observeUpTo(tick, s.At, s.Place, true, emit)
	t.weights = append(t.weights, sampleWeight{
		place: s.Place.asRunning(), at: s.At.Wall, weight: tick - got, withheld: rest, unproven: s.Basis == sample.Undecided,
	})
	if len(t.weights) == longLife {
		t.releaseWithheld(emit)
	}
}

func (t *ThreadAccount) releaseWithheld(emit func(Span)) {
	for i := range t.weights {
		if c := &t.weights[i]; c.withheld > 0 {
			emit(Span{Place: c.place, End: c.at, Wall: c.withheld, CPU: c.withheld})
			c.withheld = 0
		}
	}
}

func (t *ThreadAccount) skipGaps(at sample.Reading, s sample.State, gaps Gaps, emit func(Span)) {
	if length := gaps.Within(t.ledger.KnownUntil(), at.Wall); length > 0 {
		t.ledger.MarkNotObserved(length, at, s, emit)
	}
}

// Extend attributes the time up to the last unchanged tick. Precondition: no sample is deferred.
func (t *ThreadAccount) Extend(u sample.Unchanged, gaps Gaps, emit func(Span)) {
	if at := u.Last; u.Ticks > 0 && at.Wall != 0 {
		at.Wall = max(at.Wall, t.ledger.last.Wall)
		t.ledger.ExtendUnchanged(at, u.Ticks, emit)
		t.countSamples(u.Ticks, at.Wall)
	}
}

func (t *ThreadAccount) countSamples(samples, at int64) {
	if t.Samples == 0 {
		t.firstAt = at
	}
	t.Samples += samples
	t.lastAt = at
}

// AttributeNotStopped attributes time without stops, as in a call that a stop would abort.
func (t *ThreadAccount) AttributeNotStopped(left *sample.NotStopped, gaps Gaps, emit func(Span)) {
	t.ledger.stopRefused = t.ledger.stopRefused || left.Refused
	if !left.Suppressed() {
		return
	}
	t.AttributeDeferred(gaps, emit)
	if left.InCall.Wall != 0 {
		t.ledger.AttributeNotStopped(left.InCall, true, emit)
	}
	if left.Other.Wall != 0 {
		t.ledger.AttributeNotStopped(left.Other, false, emit)
	}
}

// Cut attributes open time for a checkpoint.
func (t *ThreadAccount) Cut(gaps Gaps, emit func(Span)) {
	t.AttributeDeferred(gaps, emit)
	t.releaseWithheld(emit)
	t.ledger.Cut(emit)
}

// Finish attributes all that is left.
func (t *ThreadAccount) Finish(gaps Gaps, emit func(Span)) {
	t.AttributeDeferred(gaps, emit)
	t.releaseWithheld(emit)
	t.ledger.Finish(emit)
}
