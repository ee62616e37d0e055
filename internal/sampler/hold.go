package sampler

import (
	"context"

	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// Hold makes the sampler leave its targets alone until [Sampler.Resume]: ticks are
// neither done nor counted as missed, and time goes on to be booked: as not observed, if it is long. It is for
// measurements of what the sampling costs, without and with, in one run.
func (s *Sampler) Hold() { s.held.Store(true) }

// Resume ends what Hold began.
func (s *Sampler) Resume() { s.held.Store(false) }

// Held reports whether a Hold has taken effect: nobody is stopped or asked to stop, but for
// threads that do not stop for seconds (in an uninterruptible sleep).
func (s *Sampler) Held() bool { return s.still.Load() }

// heldNap is how often a held sampler looks whether it is to go on, in nanoseconds.
const heldNap = 20e6

// wait finishes the looks that are pending, and does nothing until the sampler is
// resumed, ctx ends, or this process is about to be stopped. The schedule then begins anew.
func (s *Sampler) wait(ctx context.Context, c *controller, ctl *ptrace.Controller) {
	for end := procmem.Now() + drainFor; c.looker.Pending() > 0 && procmem.Now() < end && ctx.Err() == nil && !ptrace.Leaving(); {
		c.collect(procmem.Now() + heldNap)
	}
	c.flushOut()
	s.pub.set(c)
	s.still.Store(true)
	defer s.still.Store(false)
	for s.held.Load() && ctx.Err() == nil && !ptrace.Leaving() {
		c.attend(procmem.Now() + heldNap)
		sleepUntil(ctx, ctl, procmem.Now()+heldNap)
	}
	missed := c.sched.missed
	now := procmem.Now()
	c.sched = newSchedule(now, c.pace.rate(now))
	c.sched.missed = missed
}
