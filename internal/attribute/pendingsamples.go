// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"prywalk/frames"
	"prywalk/internal/sample"
)

// # Equal parts for samples of bursts
//
// A running thread's clock is up to a kernel tick old, which would favour places within a burst. So kernel samples wait
// until the thread sleeps, where its clock is exact, and share the time by their periods:
//
//	CPU time of a sample = CPU time of all pending samples × its period / Σ periods

const (
	// enoughPending samples are attributed when the thread sleeps, mostPending at once.
	enoughPending  = 32
	mostPending    = 64
	longestPending = 5e9 // age of a sleeping thread's pending sample, ns
)

type pendingSample struct {
	stack     sample.StackID
	stop      frames.StopReason
	at, queue int64 // moment, CLOCK_MONOTONIC; run queue time before it; ns
	period    int64 // ns; 0: unknown, for all
}

type pendingSamples struct {
	list []pendingSample
	cpu  int64 // of all, ns
}

// AddKernelSample adds a kernel sample of a thread on a processor, for period ns.
func (l *Ledger) AddKernelSample(r sample.Reading, s Place, period int64, emit func(Span)) {
	t := l.beginInterval(r, emit)
	l.endSleep(r, t, emit)
	t.cpu += l.takeCarriedCPU()
	t.runQueue += l.takeCarriedRunQueue()
	l.lastRunning, l.lastOnCPU, l.lastOnCPUAt = s, s, r.Wall
	l.pending.list = append(l.pending.list, pendingSample{s.Stack, s.Stop, r.Wall, t.runQueue, period})
	l.pending.cpu += t.cpu
	l.attributePendingIfDue(r.Wall, false, emit)
}

// attributePendingIfDue attributes the pending samples if there are enough. asleep reports that the thread sleeps
// at now.
func (l *Ledger) attributePendingIfDue(now int64, asleep bool, emit func(Span)) {
	n := len(l.pending.list)
	if n == 0 || n < enoughPending && now-l.pending.list[0].at < longestPending || n < mostPending && !asleep {
		return
	}
	if asleep {
		l.attributePendingAndCarried(emit)
		return
	}
	l.attributePending(emit)
}

func (l *Ledger) attributePendingAndCarried(emit func(Span)) {
	if len(l.pending.list) > 0 {
		l.pending.cpu += l.takeCarriedCPU()
	}
	l.attributePending(emit)
}

func (l *Ledger) attributePending(emit func(Span)) {
	l.emitPending(emit)
	l.pending = pendingSamples{list: l.pending.list[:0]}
}

// emitPending emits the CPU time of the pending samples. No part starts before the account: the excess goes to later
// samples, finally to a span without samples.
func (l *Ledger) emitPending(emit func(Span)) {
	samples, rest := l.pending.list, l.pending.cpu
	periods := int64(0)
	for i := range samples {
		periods += samples[i].boundedPeriod()
	}
	for i := range samples {
		s := &samples[i]
		part := min(sample.Portion(rest, s.boundedPeriod(), periods), max(s.at-l.first.Wall-s.queue, 0))
		periods -= s.boundedPeriod()
		rest -= part
		emit(Span{Place: s.place(), End: s.at, Samples: 1, Wall: part + s.queue, RunQueue: s.queue, CPU: part})
	}
	if rest > 0 {
		emit(Span{Place: samples[len(samples)-1].place(), End: l.last.Wall, Wall: rest, CPU: rest})
	}
}

const mostPeriod = 24 * 3600 * 1e9 // ns: a day

func (s *pendingSample) boundedPeriod() int64 { return min(max(s.period, 1), mostPeriod) }

func (s *pendingSample) place() Place {
	return Place{Stack: s.stack, State: sample.Running, Stop: s.stop}
}
