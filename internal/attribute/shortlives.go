// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// # Short-lived threads
//
// A sample at a random moment stands for the time between two ticks, T. The first on-CPU sample of a new thread
// has only x, the CPU time so far, which would favour what threads do late. The missing T − x is time of ended
// threads: after their last sample, or of threads without one. In expectation each place misses that much, if
// ticks are independent of thread creation (docs/design.md).
//
//	created      sample                sample       end
//	   ├─── x ─────┤├───────── T ─────────┤├─ unobserved ─┤
//	weight: T − x      weight: T − CPU time since the one before
//
// So a process's unobserved time is distributed among these samples by the weights T − x ([timePool]), up to their
// sum. If x exceeds T (after a wait), the rest is withheld until the thread has ended (then it is unobserved time)
// or has lived long (then it is the sample's). Only threads created and ended while their process was sampled have
// weights.
//
// A sample of a thread with many system calls shows its place only if taken on its own processor (package skid).
// The weights of the others are divided among those.

// threadPool is the CPU time of ended threads that belongs to no sample, and the samples among which it is
// distributed.
type threadPool struct {
	sampled     int64    // of ended threads up to their last samples, ns
	weights     timePool // of samples with a proven place
	unproven    timePool // of samples that may skid
	skidded     skidded
	classified  int64 // unproven samples that were counted as proven
	carriedBack int64 // CPU time of short-lived threads that no sample took, ns
	distributed int64 // unobserved time so far, ns
}

// skidded sums samples without a usable place.
type skidded struct {
	count       int64
	ns          int64 // sum of their weights
	firstWeight int64 // of a thread's first sample, ns; 0: it has a place
}

// sampleWeight is the weight of one sample of a living thread, ns.
type sampleWeight struct {
	place    Seen
	at, ns   int64
	withheld int64 // CPU time beyond the time between two ticks, ns
	unproven bool
}

// longLife is the number of samples, without queued ones, from which a thread's own clock suffices.
const longLife = 16

// addSample attributes a sample's interval, and notes its weight if the thread is young.
func (t *Thread) addSample(s *Sample, emit func(Span)) {
	if !s.OnCPU && s.Seen.State == sample.Running {
		t.queuedSamples++
	}
	young := t.CreatedAt != 0 && len(t.weights) < longLife && s.Apart > 0
	if young && s.Basis == sample.Skids && s.Seen.State == sample.Running {
		if t.skidded.count == 0 && len(t.weights) == 0 {
			t.skidded.firstWeight = s.Apart - s.At.CPU
		}
		t.skidded.count++
		t.skidded.ns += s.Apart // its CPU time goes to the next usable sample
	}
	switch {
	case !young && s.sharesCPU():
		t.clock.AddKernelSample(s.At, s.Seen, s.Apart, emit)
		return
	case !young || !s.OnCPU:
		t.clock.Observe(s.At, s.Seen, s.OnCPU, emit)
		return
	}
	got, rest := t.clock.observeUpTo(s.Apart, s.At, s.Seen, true, emit)
	c := sampleWeight{
		place: s.Seen.running(), at: s.At.Wall, ns: s.Apart - got, withheld: rest, unproven: s.Basis == sample.Undecided,
	}
	if t.weights = append(t.weights, c); len(t.weights) == longLife {
		t.release(emit)
	}
}

func (t *Thread) release(emit func(Span)) {
	for i := range t.weights {
		if c := &t.weights[i]; c.withheld > 0 {
			emit(Span{Seen: c.place, End: c.at, Wall: c.withheld, CPU: c.withheld})
			c.withheld = 0
		}
	}
}

// addWeights adds the weights of an ended thread: after a long life only the first sample's. With kernel samples a
// life of few samples is short.
func (p *Process) addWeights(t *Thread) {
	if t.CreatedAt == 0 {
		return
	}
	short := t.Samples-t.queuedSamples < longLife || p.Sampled && len(t.weights) < longLife
	for i, c := range t.weights {
		switch {
		case !short && (i > 0 || t.skidded.firstWeight != 0):
		case c.unproven:
			p.threads.unproven.note(c.place, c.at, c.ns)
		default:
			p.threads.weights.note(c.place, c.at, c.ns)
		}
	}
	switch {
	case short:
		p.threads.skidded.count += t.skidded.count
		p.threads.skidded.ns += t.skidded.ns
	case t.skidded.firstWeight > 0:
		p.threads.skidded.count++
		p.threads.skidded.ns += t.skidded.firstWeight
	}
	t.skidded = skidded{}
	if short {
		p.threads.carriedBack += t.clock.takeCarried()
		for i := range t.weights {
			p.threads.carriedBack += t.weights[i].withheld
		}
		t.weights = nil
	}
}

// Exited attributes the rest of a process's CPU time: to weighted samples, then to [ExitedUnseen].
func (p *Process) Exited(unseen, now int64, emit func(Span)) {
	rest := p.threads.distribute(unseen+p.threads.carriedBack, true, p.threadEmitter(now, emit))
	p.emitEnded(Span{Seen: Seen{State: sample.Running}, Leaf: ExitedUnseen, End: now}, rest, emit)
}

// ExitedSoFar attributes unobserved time up to the weights of samples; more can follow. ended is
// [ProcessEnd.Ended]. Precondition: EndThread was called for all ended threads.
func (p *Process) ExitedSoFar(ended, now int64, emit func(Span)) {
	total := p.Unseen(ended) + p.threads.carriedBack
	booked := total - p.threads.distribute(total, false, p.threadEmitter(now, emit))
	back := min(booked, p.threads.carriedBack)
	p.threads.carriedBack -= back
	p.threads.distributed += booked - back
	p.used += booked - back
}

func (p *Process) threadEmitter(now int64, emit func(Span)) func(weightKey, int64) {
	return func(k weightKey, ns int64) {
		p.emitEnded(Span{Seen: k.place, End: min((k.second+1)*1e9, now)}, ns, emit)
	}
}

const (
	// A pool has many skids if at least one sample in skidShare skids.
	skidShare = 5
	// leastProven is the least number of samples known not to skid that take the weights of others.
	leastProven = 16
)

func (t *threadPool) hasManySkids() bool {
	return t.skidded.count > 0 && t.skidded.count*skidShare >= t.unproven.sampleCount+t.classified+t.skidded.count &&
		t.weights.sampleCount-t.classified >= leastProven
}

// Decide attributes the deferred samples of an ended thread; where many samples skid, as unobserved time.
func (p *Process) Decide(t *Thread, gaps Gaps, emit func(Span)) {
	t.attributeDeferred(t.CreatedAt != 0 && t.Samples < longLife && p.threads.hasManySkids(), gaps, emit)
}

// distribute emits up to total ns of unobserved time and returns the rest. Weights of samples that skid are spread
// over the proven ones; before the last call, only over at least leastProven.
func (t *threadPool) distribute(total int64, last bool, emit func(weightKey, int64)) (left int64) {
	slack := int64(0)
	if t.hasManySkids() {
		slack += t.unproven.takeTotal()
	} else {
		t.classified += t.unproven.sampleCount
		t.weights.merge(&t.unproven)
	}
	if last || t.weights.sampleCount >= leastProven {
		slack += t.skidded.ns
		t.skidded.ns = 0
	}
	if last {
		slack += t.weights.samplingError()
	}
	return t.weights.distribute(total, slack, emit)
}

const mostSpans = 1024 // of one emitEnded

// emitEnded emits ns of CPU time that end at s.End, in several spans if one would begin before sampling did.
func (p *Process) emitEnded(s Span, ns int64, emit func(Span)) {
	for window := max(s.End-p.Since, ns/mostSpans+1); ns > 0; ns -= window {
		s.CPU = min(ns, window)
		s.Wall = s.CPU
		emit(s)
	}
}
