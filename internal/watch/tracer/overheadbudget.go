// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"math"
	"time"

	"prywalk/ptrace"
)

// # The budget
//
// The share of their CPU time that targets may lose (--max-overhead) bounds, by a lower rate, the lengths of stops,
// [StopCost] for each, and [SampleCost] for each kernel sample. While this account is overdrawn, ticks are withheld.
// [FreeLoss] is not charged. For an agent the same share of all CPUs' time bounds the CPU time of prywalk itself
// (limitsOwn).
//
// Below evenRate, ticks observe a part of the threads instead ([subset]). A tick observes at most the due threads that
// the account covers, but one at least; the first, whose cost is unknown, up to firstThreads; the last all
// ([admission]).

// StopCost is the cost of a stop besides its length, ns.
const StopCost = 10e3

// SampleCost is what a kernel sample costs a running thread, ns (docs/noticed.md).
const SampleCost = 20e3

// FreeLoss is what targets may lose before they have used any CPU time, in ns: else the first stop of a target that
// mostly sleeps would withhold the ticks until it has run for fifty times as long.
const FreeLoss = 1e6

const (
	sampleShare    = 0.8 // of the budget, for kernel samples; the rest is for stops
	samplesPerTick = 8   // most samples of a CPU between two ticks; its buffer has room for 32

	minRate          = 1       // ticks/s
	evenRate         = 10      // ticks/s; below, a tick observes a part of the threads
	minPart          = 1. / 64 // least part of the threads
	minOverdrawnRate = 20      // ticks/s
	tickLossTicks    = 256     // over which the loss of a tick is averaged
)

// overheadBudget bounds what targets lose and what prywalk takes.
type overheadBudget struct {
	withheld int64 // ticks, set by the caller

	freq        float64 // requested, ticks/s
	maxOverhead float64 // 0 means no limit
	cpus        float64
	limitsOwn   bool // maxOverhead also limits prywalk's own CPU time, as a share of all CPUs' time

	since          ptrace.Moment
	ran            float64 // CPU time of the targets, ns
	lost           float64 // by the targets, through stops and samples, ns
	tickLoss       float64 // by the stops of a tick, a moving mean, ns
	chargedSamples int64   // samples of the kernel charged so far

	observedPart float64 // of the threads
	admission    admission
	own          ownCost
}

// newOverheadBudget takes a frequency in ticks/s, and the share that targets may lose; 0 means no limit.
func newOverheadBudget(freq, maxOverhead float64, processors int) overheadBudget {
	return overheadBudget{freq: freq, maxOverhead: maxOverhead, cpus: float64(processors), observedPart: 1,
		admission: admission{most: firstThreads, cut: maxOverhead > 0}}
}

// observesPart reports whether ticks observe a part of the threads.
func (b *overheadBudget) observesPart() bool { return b.admission.cut || b.observedPart < 1 }

// admit returns how many of a tick's due threads it may observe, at least one if any is due.
func (b *overheadBudget) admit(due int) int {
	if !b.limited() {
		return due
	}
	return b.admission.admit(due, b.observedPart, b.allowed()-b.lost)
}

// limited reports whether there is a limit.
func (b *overheadBudget) limited() bool { return b.maxOverhead > 0 }

// addStop adds a stop's length.
func (b *overheadBudget) addStop(ns time.Duration) {
	b.lost += float64(ns) + StopCost
	b.admission.stopLoss += float64(ns) + StopCost
}

// chargeSamples charges kernel samples; n is the number of all so far.
func (b *overheadBudget) chargeSamples(n int64) {
	b.lost += float64(n-b.chargedSamples) * SampleCost
	b.chargedSamples = n
}

// sampleRate returns the frequency of kernel samples; ticks is the frequency of ticks, 1/s.
func (b *overheadBudget) sampleRate(ticks float64) float64 {
	if !b.limited() {
		return b.freq
	}
	return max(min(b.freq, samplesPerTick*ticks, sampleShare*b.maxOverhead*1e9/SampleCost), minRate)
}

// recordTick records a tick. self is prywalk's CPU time so far; observed counts threads, due or not.
func (b *overheadBudget) recordTick(self time.Duration, observed int64) {
	if b.limitsOwn {
		b.own.learn(self, b.observedPart)
	}
	b.tickLoss += (b.admission.stopLoss - b.tickLoss) / tickLossTicks
	b.admission.endTick(observed)
}

// setTargetCPU sets the CPU time of the targets from the start on.
func (b *overheadBudget) setTargetCPU(ns time.Duration) { b.ran = max(b.ran, float64(ns)) }

func (b *overheadBudget) allowed() float64 { return b.maxOverhead*b.ran + FreeLoss }

// overdrawn returns what targets have lost beyond the limit, ns.
func (b *overheadBudget) overdrawn() float64 {
	if !b.limited() {
		return 0
	}
	return max(b.lost-b.allowed(), 0)
}

// updateRate returns the present frequency of ticks, at most the requested one, ticks/s.
func (b *overheadBudget) updateRate(now ptrace.Moment) float64 {
	if !b.limited() {
		return b.freq
	}
	rate, running := b.freq, b.ran/float64(max(now.Sub(b.since), 1))
	if b.tickLoss > 0 && b.lost > b.allowed()/2 {
		rate = min(rate, b.maxOverhead*running*1e9/b.tickLoss)
	}
	if b.own.tickCPU > 0 {
		rate = min(rate, b.maxOverhead*b.cpus*1e9/b.own.tickCPU)
	}
	b.observedPart = min(max(rate/min(evenRate, b.freq), minPart), 1)
	rate /= b.observedPart
	if debt := b.overdrawn(); debt > 0 {
		rate = min(rate, max(b.maxOverhead*running*1e9/debt, minOverdrawnRate))
	}
	return max(rate, minRate)
}

const firstTicks = 16 // ticks whose cost is untypical

type ownCost struct {
	tickCPU   float64 // mean, as if all threads were observed, ns
	cpuAtTick time.Duration
	ticks     int64
}

func (c *ownCost) learn(self time.Duration, part float64) {
	took := float64(self-c.cpuAtTick) / part
	c.cpuAtTick = self
	c.ticks++
	if c.ticks <= firstTicks {
		return
	}
	if c.tickCPU == 0 {
		c.tickCPU = took
	}
	c.tickCPU += (took - c.tickCPU) / 32
}

const firstThreads = 8 // that the first tick observes at most, with --max-overhead

// admission bounds the threads of a tick by the mean loss of an observation. The first tick observes at most
// firstThreads, and the limit doubles in each tick that reaches it.
type admission struct {
	most       int // threads of a tick
	admitted   int
	cut        bool    // fewer than were due
	stopLoss   float64 // since the last tick, ns
	threadLoss float64 // mean, of an observation, ns
}

// admit returns how many of the due threads a tick observes, at least one if any is due. part is the part of them that
// the rate asks for, left what targets may still lose, ns.
func (a *admission) admit(due int, part, left float64) int {
	a.admitted = due
	if due == 0 {
		return 0
	}
	n := min(math.Ceil(part*float64(due)), float64(a.most))
	if a.threadLoss > 0 {
		n = min(n, left/a.threadLoss)
	}
	a.admitted = max(int(n), 1)
	a.cut = a.admitted < due
	if a.admitted == a.most {
		a.most *= 2
	}
	return a.admitted
}

// endTick updates the mean loss. observed counts the tick's attempts, also of threads that were not due; the admitted
// ones count at least, as some are left to the kernel's samples.
func (a *admission) endTick(observed int64) {
	n := max(observed, int64(a.admitted))
	if n == 0 {
		return
	}
	loss := a.stopLoss / float64(n)
	if a.threadLoss == 0 {
		a.threadLoss = loss
	}
	a.threadLoss += (loss - a.threadLoss) / 8
	a.stopLoss, a.admitted = 0, 0
}
