// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"math/rand/v2"
	"slices"

	"prywalk/internal/procmem"
)

// Policy decides which sleepers are backed off.
type Policy struct {
	wheel wheel
	rng   *rand.Rand
	due   func(*Thread) // expired, made once

	tick     int64 // number of the present or last tick
	at       int64 // its time, CLOCK_MONOTONIC ns
	period   int64 // mean distance of ticks, ns
	threads  int   // all threads
	restless int   // restless threads, see [Thread]
}

// New makes a policy. seed seeds its random numbers.
func New(seed uint64) *Policy {
	p := &Policy{rng: rand.New(rand.NewPCG(seed, 0x6964_6c65))}
	p.due = p.expired
	return p
}

// BeginTick begins a tick: its number, its time (CLOCK_MONOTONIC) and the mean distance of ticks, in nanoseconds.
func (c *Policy) BeginTick(tick, at, period int64) {
	c.tick, c.at, c.period = tick, at, period
}

// WakeDue makes threads due whose back-off is over. threads is the number of all threads.
func (c *Policy) WakeDue(threads int) {
	c.threads = threads
	c.wheel.turn(c.at, c.due)
}

// expired handles the end of a back-off. It is prolonged if the process's clock has not moved since the thread's last
// observation.
func (c *Policy) expired(th *Thread) {
	p := th.proc
	if p.clocked && p.cpu == th.clockThen && c.at-th.observedAt < idleMost-longestBackoff {
		c.wheel.put(th, c.at+backoffFor(longestBackoff*sleepShare, 0, c.threads, 1, sleepShare, c.rng))
		return
	}
	c.wake(th)
}

// wake makes a backed-off thread due in this tick.
func (c *Policy) wake(th *Thread) {
	th.proc.backedOff--
	th.proc.Due = append(th.proc.Due, th)
}

// Wake makes a thread due in this tick if it is backed off.
func (c *Policy) Wake(th *Thread) {
	if th.filed {
		c.wheel.remove(th)
		c.wake(th)
	}
}

// Unchanged records that a thread has not run since its last observation, and gives the number of ticks of its
// back-off.
func (c *Policy) Unchanged(th *Thread) (inferred int64) {
	inferred = th.endBackoff(c.tick)
	th.addUnchanged(inferred+1, procmem.ReadingAt(th.Observed.LastSched(), c.at))
	th.asleep = th.Observed.Asleep()
	if th.asleep {
		stretch, share := th.limits(c.threads)
		th.backoff = backoffFor(c.at-th.unchangedSince, c.period, c.threads, stretch, share, c.rng)
		th.observedAt, th.clockThen = c.at, th.proc.cpu
	}
	if th.restless {
		c.noteRestless(th, th.asleep && th.sampled() && c.at-th.unchangedSince < calmAfter)
		c.backOffRestless(th)
	}
	return inferred
}

// Changed records that a thread has run since its last observation, or could not be observed: it is due at every tick
// from now on. It gives the number of ticks of its back-off.
func (c *Policy) Changed(th *Thread) (unseen int64) {
	waited := !th.skipped && !th.restless
	unseen = th.endBackoff(c.tick)
	th.ranBackOff = th.ranBackOff || unseen > 0 && waited
	th.firstRun = th.observed && !th.hasRun
	th.hasRun, th.observed = th.observed, true
	th.asleep, th.unchangedSince = false, c.at
	return unseen
}

// endBackoff gives the number of ticks of the back-off before this observation.
func (th *Thread) endBackoff(tick int64) int64 {
	if th.backedOffAt == 0 {
		return 0
	}
	n := tick - th.backedOffAt - 1
	th.backedOffAt, th.skipped = 0, false
	return max(n, 0)
}

// Observed records an observation: whether the thread is asleep, and its clocks s. Its CPU time since the last one
// explains a part of the process's clock. created reports that the thread's clock began at zero within the recording.
func (c *Policy) Observed(th *Thread, asleep, created bool, s procmem.SchedStat) {
	th.asleep = asleep
	if s.Runs == 0 { // unknown
		return
	}
	used := int64(s.CPU)
	again := th.restless || th.usedKnown && used != th.used // use before the first observation is unknown
	c.noteRestless(th, asleep && again && th.sampled())
	c.backOffRestless(th)
	if th.usedKnown || created {
		th.proc.explained += used - th.used
		if th.ranBackOff {
			th.class().burst(used - th.used)
		}
	}
	th.used, th.usedKnown, th.ranBackOff, th.firstRun = used, true, false, false
}

// BackOff backs off threads of a process from the next tick on, and removes ended ones from this tick's list.
func (c *Policy) BackOff(p *Process) {
	p.Due = slices.DeleteFunc(p.Due, func(th *Thread) bool {
		backoff := th.backoff
		th.backoff = 0
		if th.Gone || backoff == 0 {
			return th.Gone
		}
		th.backedOffAt = c.tick
		c.wheel.put(th, c.at+backoff)
		p.backedOff++
		return true
	})
}

// TicksSkipped records that the next ticks are skipped.
func (c *Policy) TicksSkipped(p *Process) {
	for _, th := range p.Due {
		if th.asleep && th.backedOffAt == 0 {
			th.backedOffAt, th.skipped = c.tick, true
		}
	}
}

// SearchDue reports whether a backed-off thread must have run, and a search is due. The caller then wakes
// ([Policy.Wake]) and observes those that ran before; if the clock is still unexplained ([Policy.Unexplained]), all
// others, and calls [Policy.AllObserved]. In both cases it calls [Policy.SearchEnded].
func (c *Policy) SearchDue(p *Process) bool {
	return p.backedOff > 0 && p.clocked && p.clockAt == c.at && c.at >= p.nextSearch && c.Unexplained(p)
}

// Unexplained reports whether the process's clock has moved by more than the observations explain.
func (c *Policy) Unexplained(p *Process) bool {
	running := int64(0)
	for _, th := range p.Due {
		if !th.asleep {
			running++
		}
	}
	return int64(p.cpu-p.clockAllObserved)-p.explained > running*(c.period+clockError)
}

// SearchEnded records that a search has observed n threads.
func (c *Policy) SearchEnded(p *Process, n int) {
	p.nextSearch = c.at + searchShare*(sampleCost*int64(n)+restlessCost*int64(p.restless))
}

// AllObserved records that all threads of a process were observed.
func (c *Policy) AllObserved(p *Process) { p.clockAllObserved, p.explained = p.cpu, 0 }

// Forget removes an ended thread, and gives the number of ticks of its back-off.
func (c *Policy) Forget(th *Thread) (unseen int64) {
	th.Gone = true
	c.noteRestless(th, false)
	if th.filed {
		c.wheel.remove(th)
		th.proc.backedOff--
	}
	return th.endBackoff(c.tick)
}
