// SPDX-License-Identifier: Apache-2.0

package schedule

// # The budget
//
// A user may say what share of their time targets may lose at most (--max-overhead).
// Two limits follow, and the rate is lowered until both are kept:
//
//   - What targets lose by being stopped: the length of each freeze and what a stop costs
//     besides. The sum is never above the share of the processor time that the kernel
//     charged to the targets, but for the looks of the last tick. An account says so, not
//     an estimate: a tick that comes while the account is overdrawn is withheld. The rate
//     comes from the mean of the freezes lately, so that ticks are even and few are withheld.
//   - What prywalk takes of the processors, which targets lose when all are busy. It is
//     kept below the share of all processors, as far as the rate has an influence on it.
//
// Where the rate would be below evenRate, ticks look at a part of the threads instead ([Subset]). Many small ticks show
// more of what happens, and hold fewer at once, than few large ones.
//
// Sleepers lose nothing, so a process that sleeps is not looked at less often.

// StopCost is what a stop costs a running thread besides the time that it is
// stopped, in nanoseconds: cold caches, the way into and out of the kernel.
const StopCost = 10e3

const (
	// leastRate is the lowest rate that a budget leads to, in ticks a second. More of
	// these ticks may then be withheld.
	leastRate = 1
	// evenRate is the rate below which a tick looks at a part of the threads instead, leastPart at least.
	evenRate  = 10
	leastPart = 1. / 64
	// leastChecks is how often an overdrawn account is checked, in times a second at least.
	leastChecks = 20
	// selfStart is the number of ticks whose processor time says nothing of those to
	// come: files are opened, tables read.
	selfStart = 16
)

// Budget keeps the sampling within what the user allows targets to lose.
type Budget struct {
	// Withheld are the ticks that came while the account was overdrawn.
	Withheld int64

	freq        float64 // that asked for, in ticks a second
	maxOverhead float64 // 0: no limit
	processors  float64

	mean     float64 // of the freezes' lengths lately, ns
	lost     float64 // by all freezes, ns
	ran      float64 // processor time of the targets, ns
	since    int64   // CLOCK_MONOTONIC, ns
	self     float64 // prywalk's own processor time for a tick lately, ns
	selfLast int64
	ticks    int64
	part     float64 // of the threads that a tick looks at; 0: of all, always
}

// UseParts has ticks look at a part of the threads where the rate would be low.
func (p *Budget) UseParts() { p.part = 1 }

// Part gives the part of the threads that a tick is to look at, as of the last [Budget.Rate].
func (p *Budget) Part() float64 {
	if p.part == 0 {
		return 1
	}
	return p.part
}

// NewBudget makes an account. freq is the rate asked for, in ticks a second. maxOverhead is the share of their time
// that targets may lose, 0 for no limit.
func NewBudget(freq, maxOverhead float64, processors int) Budget {
	return Budget{freq: freq, maxOverhead: maxOverhead, processors: float64(processors)}
}

// Begin takes note of when sampling began.
func (p *Budget) Begin(now int64) { p.since = now }

// Limited reports whether there is a limit.
func (p *Budget) Limited() bool { return p.maxOverhead > 0 }

// Lost gives what targets have lost by all freezes, in nanoseconds.
func (p *Budget) Lost() float64 { return p.lost }

// Froze takes note of a freeze's length.
func (p *Budget) Froze(ns int64) {
	if p.mean == 0 {
		p.mean = float64(ns)
	}
	p.mean += (float64(ns) - p.mean) / 32
	p.lost += float64(ns) + StopCost
}

// Ticked takes note of a tick, after which prywalk has used so much processor time.
func (p *Budget) Ticked(self int64) {
	took := float64(self-p.selfLast) / p.Part() // as if it had looked at all
	p.selfLast = self
	if p.ticks++; p.ticks <= selfStart {
		return
	}
	if p.self == 0 {
		p.self = took
	}
	p.self += (took - p.self) / 32
}

// RanTo takes note of the processor time that targets have used so far.
func (p *Budget) RanTo(ns int64) { p.ran = max(p.ran, float64(ns)) }

// Overdrawn gives by how much targets have lost more than they may, in nanoseconds.
func (p *Budget) Overdrawn() float64 {
	if !p.Limited() {
		return 0
	}
	return max(p.lost-p.maxOverhead*p.ran, 0)
}

// Rate gives the frequency for now: that asked for, or a lower one that keeps both
// limits. While the account is overdrawn it is that of the tick by which targets, going
// on as they did, will have run for long enough.
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
		share := p.ran / float64(max(now-p.since, 1)) // of one processor
		r = min(r, max(p.maxOverhead*share*1e9/debt, leastChecks))
	}
	return max(r, leastRate)
}
