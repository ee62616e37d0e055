// SPDX-License-Identifier: Apache-2.0

package schedule

// # The budget
//
// The share of their time that targets may lose (--max-overhead) sets two limits. The rate is lowered until both are
// kept:
//
//   - What targets lose: the lengths of stops and [StopCost] for each, and [SampleCost] for each sample of the kernel,
//     as a share of the targets' CPU time. A tick is withheld while this account is overdrawn.
//   - What prywalk takes of the processors, as a share of all.
//
// Below evenRate, ticks observe a part of the threads instead ([Subset]).

// StopCost is what a stop costs a running thread besides its length, ns.
const StopCost = 10e3

// SampleCost is what a sample of the kernel costs a running thread, ns (docs/noticed.md).
const SampleCost = 20e3

const (
	// sampleShare of the budget is for samples of the kernel: the rest is for stops.
	sampleShare = 0.8
	// samplesPerTick bounds the samples of a processor between two ticks. Its buffer has room for 32.
	samplesPerTick = 8

	leastRate = 1
	// Below evenRate, ticks/s, a tick observes a part of the threads.
	evenRate    = 10
	leastPart   = 1. / 64
	leastChecks = 20
	// selfStart is the number of first ticks that are not typical.
	selfStart = 16
)

// Budget bounds what targets lose.
type Budget struct {
	// Withheld is the number of ticks while the account was overdrawn.
	Withheld int64

	freq        float64 // asked for, ticks/s
	maxOverhead float64 // 0: no limit
	processors  float64

	mean     float64 // of recent stops, ns
	lost     float64 // by all stops and samples, ns
	sampled  int64   // samples of the kernel charged so far
	ran      float64 // CPU time of the targets, ns
	since    int64   // start, CLOCK_MONOTONIC ns
	self     float64 // prywalk's CPU time for a tick, ns
	selfLast int64   // prywalk's CPU time as of the last tick, ns
	ticks    int64
	part     float64 // of the threads; 0: always all
	host     bool    // the limit is a share of all processors' time
}

// OfHost makes the limit a share of all processors' time.
func (p *Budget) OfHost() { p.host = true }

// UseParts lets ticks observe a part of the threads.
func (p *Budget) UseParts() { p.part = 1 }

// Part gives the part of the threads that a tick observes.
func (p *Budget) Part() float64 {
	if p.part == 0 {
		return 1
	}
	return p.part
}

// NewBudget makes an account. freq is in ticks/s; maxOverhead is the share that targets may lose, 0: no limit.
func NewBudget(freq, maxOverhead float64, processors int) Budget {
	return Budget{freq: freq, maxOverhead: maxOverhead, processors: float64(processors)}
}

// Begin sets the start, CLOCK_MONOTONIC ns.
func (p *Budget) Begin(now int64) { p.since = now }

// Limited reports whether there is a limit.
func (p *Budget) Limited() bool { return p.maxOverhead > 0 }

// Lost gives what targets have lost by all stops and samples, ns.
func (p *Budget) Lost() float64 { return p.lost }

// AddStop adds a stop's length.
func (p *Budget) AddStop(ns int64) {
	if p.mean == 0 {
		p.mean = float64(ns)
	}
	p.mean += (float64(ns) - p.mean) / 32
	p.lost += float64(ns) + StopCost
}

// SampledTo sets the number of the kernel's samples so far, and charges the new ones.
func (p *Budget) SampledTo(n int64) {
	p.lost += float64(n-p.sampled) * SampleCost
	p.sampled = n
}

// SampleRate gives the frequency of the kernel's samples, samples/s, at most that asked for; ticks is the frequency of
// ticks.
func (p *Budget) SampleRate(ticks float64) float64 {
	if !p.Limited() {
		return p.freq
	}
	return max(min(p.freq, samplesPerTick*ticks, sampleShare*p.maxOverhead*1e9/SampleCost), leastRate)
}

// Ticked notes a tick; self is prywalk's CPU time so far, ns.
func (p *Budget) Ticked(self int64) {
	took := float64(self-p.selfLast) / p.Part()
	p.selfLast = self
	if p.ticks++; p.ticks <= selfStart {
		return
	}
	if p.self == 0 {
		p.self = took
	}
	p.self += (took - p.self) / 32
}

// RanTo sets the CPU time of the targets until now to ns nanoseconds.
func (p *Budget) RanTo(ns, now int64) {
	if p.host {
		ns = int64(p.processors) * (now - p.since)
	}
	p.ran = max(p.ran, float64(ns))
}

// Overdrawn gives by how much targets have lost more than they may, ns.
func (p *Budget) Overdrawn() float64 {
	if !p.Limited() {
		return 0
	}
	return max(p.lost-p.maxOverhead*p.ran, 0)
}

// Rate gives the frequency for now, at most that asked for, ticks/s. While the account is overdrawn it is lower.
func (p *Budget) Rate(now int64) float64 {
	if !p.Limited() {
		return p.freq
	}
	r := p.freq
	if p.mean > 0 {
		r = min(r, p.maxOverhead*1e9/(p.mean+StopCost))
	}
	if p.self > 0 {
		r = min(r, p.maxOverhead*p.processors*1e9/p.self)
	}
	if p.part > 0 {
		p.part = min(max(r/min(evenRate, p.freq), leastPart), 1)
		r /= p.part
	}
	if debt := p.Overdrawn(); debt > 0 {
		share := p.ran / float64(max(now-p.since, 1))
		r = min(r, max(p.maxOverhead*share*1e9/debt, leastChecks))
	}
	return max(r, leastRate)
}
