// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"prywalk/frames"
	"prywalk/internal/base/sample"
)

const (
	// enoughPending samples are attributed when the thread sleeps, maxPending at once.
	enoughPending  = 32
	maxPending     = 64
	longestPending = 5e9 // greatest age of a sleeping thread's sample, ns
)

type pendingSample struct {
	stack     sample.StackID
	walkEnd   frames.StopReason
	labels    string
	at        int64 // CLOCK_MONOTONIC ns
	runQueue  int64 // before it, ns
	standsFor int64 // ns; 0: unknown
}

// A running thread's clock is up to a kernel tick old, which would favour places within a burst.
type pendingSamples struct {
	list []pendingSample
	cpu  int64 // ns
}

// areDue reports whether to attribute them at now, CLOCK_MONOTONIC ns. asleep: the thread sleeps then.
func (p *pendingSamples) areDue(now int64, asleep bool) bool {
	n := len(p.list)
	if !asleep {
		return n >= maxPending
	}
	return n >= enoughPending || n > 0 && now-p.list[0].at >= longestPending
}

// AddKernelSample adds a kernel sample of a thread on a CPU that stands for standsFor, ns.
func (l *Ledger) AddKernelSample(now sample.Reading, place Place, standsFor int64) {
	t := l.beginInterval(now)
	l.endSleep(now, t)
	t.cpu += l.carried.takeCPU()
	l.emitParts(Span{Place: place})
	t.runQueue += take(&l.carried.times.runQueue)
	l.lastRunning, l.lastOnCPU, l.lastOnCPUAt = place, place, now.Wall
	l.pending.list = append(l.pending.list, pendingSample{place.Stack, place.WalkEnd, place.Labels, now.Wall, t.runQueue,
		standsFor})
	l.pending.cpu += t.cpu
	l.attributePendingIfDue(now.Wall, false)
}

func (l *Ledger) attributePendingIfDue(now int64, asleep bool) {
	switch {
	case !l.pending.areDue(now, asleep):
	case asleep:
		l.attributePendingAndCarried()
	default:
		l.attributePending()
	}
}

func (l *Ledger) attributePendingAndCarried() {
	if len(l.pending.list) > 0 {
		l.pending.cpu += l.carried.takeCPU()
	}
	l.attributePending()
}

func (l *Ledger) attributePending() {
	l.emitPending(l.Emit)
	l.pending = pendingSamples{list: l.pending.list[:0]}
}

// emitPending emits the waiting samples; no part starts before the account. The excess goes to later samples, finally
// to a span without samples.
func (l *Ledger) emitPending(emit func(Span)) {
	samples, rest := l.pending.list, l.pending.cpu
	weights := int64(0)
	for i := range samples {
		weights += samples[i].weight()
	}
	for i := range samples {
		s := &samples[i]
		part := min(sample.Portion(rest, s.weight(), weights), max(s.at-l.clocks.first.Wall-s.runQueue, 0))
		weights -= s.weight()
		rest -= part
		emit(Span{Place: s.place(), End: s.at, Samples: 1, Wall: part + s.runQueue, RunQueue: s.runQueue, CPU: part})
	}
	if rest > 0 {
		emit(Span{Place: samples[len(samples)-1].place(), End: l.clocks.last.Wall, Wall: rest, CPU: rest})
	}
}

const maxWeight = 24 * 3600 * 1e9 // a day, ns

func (s *pendingSample) weight() int64 { return min(max(s.standsFor, 1), maxWeight) }

func (s *pendingSample) place() Place {
	return Place{Stack: s.stack, State: sample.Running, WalkEnd: s.walkEnd, Labels: s.labels}
}
