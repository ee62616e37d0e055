package sampler

import (
	"slices"

	"prywalk/internal/procmem"
)

// nap is what the controller remembers of a thread to decide when to look at it.
type nap struct {
	asleep  bool   // it slept at its last look
	since   int64  // since when it has not been found changed, CLOCK_MONOTONIC ns
	left    int64  // the tick at which it was backed off; 0: it is looked at in every tick
	looked  int64  // when it was last looked at, CLOCK_MONOTONIC ns
	clock   uint64 // the process's clock then, ns
	until   int64  // for how long it is to be left alone next, ns; 0: not at all
	used    int64  // its processor time as of the last look, ns
	counted bool   // used is valid
	over    bool   // it was backed off as it ran, and that is not yet accounted for
	resting bool   // it is looked at when a census shows that it has run
	place   int    // in the process's roll, as of the last census if it was not resting
	filed   bool   // it is in the wheel, in this slot
	slot    int
	prev    *thread
	next    *thread
}

// restAfter is how long a thread must have been asleep before it is left to a census, in
// nanoseconds: by then its stack has been walked, and no further look was asked for.
const restAfter = 50e6

// wake makes a backed off thread due in this tick.
func (c *controller) wake(th *thread) {
	th.proc.napping--
	th.proc.awake = append(th.proc.awake, th)
}

// due decides about a thread whose nap is over. In a process whose clock has stood
// still since its last look it goes on.
func (c *controller) due(th *thread) {
	p := th.proc
	if p.clocked && p.cpu == th.nap.clock && c.nowTick-th.nap.looked < idleMost-longestNap {
		c.naps.put(th, c.nowTick+napOf(longestNap*restShare, 0, c.live, 1, c.sched.rng))
		return
	}
	c.wake(th)
}

// skipped gives at how many ticks a thread was not looked at before the look of this
// one, and ends its nap.
func (c *controller) skipped(th *thread) int64 {
	if th.nap.left == 0 {
		return 0
	}
	n := c.counts.ticks - th.nap.left - 1
	th.nap.left = 0
	return max(n, 0)
}

// reused takes note of a thread that has not run since its last look.
func (c *controller) reused(th *thread) {
	n := c.skipped(th)
	c.counts.reused++
	c.counts.inferred += n
	th.tick = c.counts.ticks
	th.reuses += n + 1
	th.unchanged = reading(th.look.LastSched(), c.nowTick)
	th.nap.asleep = th.look.Asleep()
	if th.nap.asleep && th.proc.rolled && c.nowTick-th.nap.since >= restAfter {
		th.nap.until = c.nowTick
	} else if th.nap.asleep {
		th.nap.until = napOf(c.nowTick-th.nap.since, c.sched.period, c.live, th.proc.slack.factor(), c.sched.rng)
		th.nap.looked, th.nap.clock = c.nowTick, th.proc.cpu
	}
}

// changed takes note of a thread that has run since its last look, or could not be
// looked at: it is looked at in every tick from now on.
func (c *controller) changed(th *thread) {
	n := c.skipped(th)
	c.counts.unseen += n
	th.nap.over = th.nap.over || n > 0
	th.nap.asleep, th.nap.since = false, c.nowTick
}

// account adds what a thread has used since its last look to what is known of the
// process's clock.
func (c *controller) account(th *thread, s procmem.SchedStat) {
	if s.Runs == 0 { // not known
		return
	}
	used := int64(s.CPU)
	if th.nap.counted || th.born {
		th.proc.known += used - th.nap.used
		if th.nap.over {
			th.proc.slack.overslept(used - th.nap.used)
		}
	}
	th.nap.used, th.nap.counted, th.nap.over = used, true, false
}

// rest backs off the threads of a process that are to be left alone, and drops those
// that have ended from the list of this tick.
func (c *controller) rest(p *process) {
	p.awake = slices.DeleteFunc(p.awake, func(th *thread) bool {
		until := th.nap.until
		th.nap.until = 0
		switch {
		case th.dead || until == 0:
			return th.dead
		case p.rolled:
			return c.layDown(th)
		}
		th.nap.left = c.counts.ticks
		c.naps.put(th, c.nowTick+until)
		p.napping++
		return true
	})
}

// stir looks at all backed off threads of a process if one of them must have run: the
// process's clock has moved by more than the looks at the others explain.
func (c *controller) stir(p *process) {
	if p.napping == 0 || !p.clocked || p.clockAt != c.nowTick || c.nowTick < p.stirNext {
		return
	}
	running := int64(0)
	for _, th := range p.awake {
		if !th.nap.asleep {
			running++
		}
	}
	if int64(p.cpu-p.stirred)-p.known <= running*(c.sched.period+staleClock) {
		return
	}
	p.stirNext = c.nowTick + stirShare*lookCost*int64(p.napping)
	already := len(p.awake)
	c.wakeAll(p)
	c.lookAt(p.awake[already:])
	p.stirred, p.known = p.cpu, 0
}

// discard forgets a thread that has ended.
func (c *controller) discard(th *thread) {
	if th.nap.filed {
		c.naps.remove(th)
		th.proc.napping--
	}
	if th.nap.resting {
		c.settle(th, c.counts.ticks, c.thisTick)
		th.nap.resting, th.nap.left = false, 0
		th.proc.resting--
	}
	c.counts.unseen += c.skipped(th)
}

// wakeAll makes all backed off threads of a process due in this tick.
func (c *controller) wakeAll(p *process) {
	for _, th := range p.order {
		if th.nap.filed {
			c.naps.remove(th)
			c.wake(th)
		}
	}
}
