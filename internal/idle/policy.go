// SPDX-License-Identifier: Apache-2.0

package idle

import (
	"math/rand/v2"
	"slices"

	"prywalk/internal/procmem"
)

// Policy decides whom to leave alone.
type Policy struct {
	wheel wheel
	rng   *rand.Rand
	due   func(*Thread) // expired, made once

	tick     int64 // the number of this tick, or the last one
	at       int64 // its moment, CLOCK_MONOTONIC ns
	period   int64 // the mean distance of ticks, ns
	threads  int   // in all
	restless int   // of these, see [Thread]
}

// New makes a policy. The seed is of its random numbers.
func New(seed uint64) *Policy {
	p := &Policy{rng: rand.New(rand.NewPCG(seed, 0x6964_6c65))}
	p.due = p.expired
	return p
}

// BeginTick begins with a tick: its number, its moment (CLOCK_MONOTONIC) and the mean distance of ticks, in
// nanoseconds.
func (c *Policy) BeginTick(tick, at, period int64) {
	c.tick, c.at, c.period = tick, at, period
}

// WakeDue makes those due in this tick whose backoff is over. threads is how many there are in all.
func (c *Policy) WakeDue(threads int) {
	c.threads = threads
	c.wheel.turn(c.at, c.due)
}

// expired decides about a thread whose backoff is over. In a process whose clock has stood
// still since its last look it goes on.
func (c *Policy) expired(th *Thread) {
	p := th.proc
	if p.clocked && p.cpu == th.clock && c.at-th.lookedAt < idleMost-longestBackoff {
		c.wheel.put(th, c.at+backoffFor(longestBackoff*sleepShare, 0, c.threads, 1, sleepShare, c.rng))
		return
	}
	c.wake(th)
}

// wake makes a thread that was backed off due in this tick.
func (c *Policy) wake(th *Thread) {
	th.proc.backedOff--
	th.proc.Awake = append(th.proc.Awake, th)
}

// Wake makes a thread due in this tick if it is backed off.
func (c *Policy) Wake(th *Thread) {
	if th.filed {
		c.wheel.remove(th)
		c.wake(th)
	}
}

// Unchanged takes note of a thread that has not run since its last look, and gives at how many ticks it was left
// alone before.
func (c *Policy) Unchanged(th *Thread) (inferred int64) {
	inferred = th.endBackoff(c.tick)
	th.found(inferred+1, procmem.ReadingAt(th.Look.LastSched(), c.at))
	th.asleep = th.Look.Asleep()
	if th.asleep {
		stretch, share := th.patience(c.threads)
		th.backoff = backoffFor(c.at-th.since, c.period, c.threads, stretch, share, c.rng)
		th.lookedAt, th.clock = c.at, th.proc.cpu
	}
	if th.restless {
		c.noteRestless(th, th.asleep && th.mayRest() && c.at-th.since < calmAfter)
		c.rest(th)
	}
	return inferred
}

// Changed takes note of a thread that has run since its last look, or could not be looked at. From now on it is
// looked at in every tick. The result is at how many ticks it was left alone before.
func (c *Policy) Changed(th *Thread) (unseen int64) {
	waited := !th.rested && !th.restless
	unseen = th.endBackoff(c.tick)
	th.ranBackOff = th.ranBackOff || unseen > 0 && waited
	th.firstRun = th.met && !th.hasRun
	th.hasRun, th.met = th.met, true
	th.asleep, th.since = false, c.at
	return unseen
}

// endBackoff gives at how many ticks a thread was left alone before the look of this one.
func (th *Thread) endBackoff(tick int64) int64 {
	if th.left == 0 {
		return 0
	}
	n := tick - th.left - 1
	th.left, th.rested = 0, false
	return max(n, 0)
}

// Looked takes note of what a look has found: whether the thread is asleep, and its clocks. What it has used since
// its last look explains so much of the process's clock. born: the thread began at zero.
func (c *Policy) Looked(th *Thread, asleep, born bool, s procmem.SchedStat) {
	th.asleep = asleep
	if s.Runs == 0 { // not known
		return
	}
	used := int64(s.CPU)
	again := th.restless || th.usedKnown && used != th.used // what it did before its first look is not known
	c.noteRestless(th, asleep && again && th.mayRest())
	c.rest(th)
	if th.usedKnown || born {
		th.proc.explained += used - th.used
		if th.ranBackOff {
			th.class().burst(used - th.used)
		}
	}
	th.used, th.usedKnown, th.ranBackOff, th.firstRun = used, true, false, false
}

// LeaveAlone leaves those threads of a process alone from the next tick on that are to be, and drops those that have
// ended from the list of this tick.
func (c *Policy) LeaveAlone(p *Process) {
	p.Awake = slices.DeleteFunc(p.Awake, func(th *Thread) bool {
		backoff := th.backoff
		th.backoff = 0
		if th.Gone || backoff == 0 {
			return th.Gone
		}
		th.left = c.tick
		c.wheel.put(th, c.at+backoff)
		p.backedOff++
		return true
	})
}

// Rest takes note that the next ticks are left out: those who sleep are left alone at them.
func (c *Policy) Rest(p *Process) {
	for _, th := range p.Awake {
		if th.asleep && th.left == 0 {
			th.left, th.rested = c.tick, true
		}
	}
}

// SomeoneRan reports whether one of those that are backed off must have run, and whether it is time to see who. The
// caller then makes those due ([Policy.Wake]) that have run before, and looks at them. If that leaves something
// unexplained ([Policy.Unexplained]), it does so with all others, and says [Policy.AllLookedAt]. In either case it says
// [Policy.LookedAt].
func (c *Policy) SomeoneRan(p *Process) bool {
	return p.backedOff > 0 && p.clocked && p.clockAt == c.at && c.at >= p.wakeAllFrom && c.Unexplained(p)
}

// Unexplained reports whether the process's clock has moved by more than the looks at its threads explain.
func (c *Policy) Unexplained(p *Process) bool {
	running := int64(0)
	for _, th := range p.Awake {
		if !th.asleep {
			running++
		}
	}
	return int64(p.cpu-p.wokenAll)-p.explained > running*(c.period+staleClock)
}

// LookedAt takes note that so many were looked at to see who ran.
func (c *Policy) LookedAt(p *Process, n int) {
	p.wakeAllFrom = c.at + wakeAllShare*(lookCost*int64(n)+restlessCost*int64(p.restless))
}

// AllLookedAt takes note that nobody of a process is backed off, and that all were looked at.
func (c *Policy) AllLookedAt(p *Process) { p.wokenAll, p.explained = p.cpu, 0 }

// Forget forgets a thread that has ended. unseen is at how many ticks it was left alone before.
func (c *Policy) Forget(th *Thread) (unseen int64) {
	th.Gone = true
	c.noteRestless(th, false)
	if th.filed {
		c.wheel.remove(th)
		th.proc.backedOff--
	}
	return th.endBackoff(c.tick)
}
