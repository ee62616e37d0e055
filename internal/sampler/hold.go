package sampler

import (
	"context"

	"prywalk/internal/ownruntime"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// Hold makes the sampler leave its targets alone until [Sampler.Resume]. Ticks are neither done nor counted as
// missed. Time goes on to be booked: as not observed, if it is long. It is for measurements of what the sampling
// costs, without and with, in one run.
func (s *Sampler) Hold() { s.held.Store(true) }

// Resume ends what Hold began.
func (s *Sampler) Resume() { s.held.Store(false) }

// Held reports whether a Hold has taken effect: nobody is stopped or asked to stop, but for
// threads that do not stop for seconds (in an uninterruptible sleep).
func (s *Sampler) Held() bool { return s.still.Load() }

// heldStep is how often a held sampler looks whether it is to go on, in nanoseconds.
const heldStep = 20e6

// hold finishes the looks that are pending, and does nothing until the sampler is
// resumed, ctx ends, or this process is about to be stopped. The schedule then begins anew.
func (s *Sampler) hold(ctx context.Context, c *tracer, ctl *ptrace.Controller) {
	over := func() bool { return ctx.Err() != nil || ptrace.Leaving() }
	for end := procmem.Now() + ownruntime.DrainFor; c.looker.Pending() > 0 && procmem.Now() < end && !over(); {
		c.collect(procmem.Now() + heldStep)
	}
	c.out.handOver(c.now.at)
	s.pub.set(c)
	if r := c.samples.reader; r != nil && !c.samples.paused {
		r.Pause()
		defer r.Resume()
	}
	s.still.Store(true)
	defer s.still.Store(false)
	for s.held.Load() && !over() {
		c.attend(procmem.Now() + heldStep)
		sleepUntil(ctx, ctl, procmem.Now()+heldStep)
	}
	now := procmem.Now()
	c.ticks.Restart(now, c.budget.Rate(now))
}
