package sampler

import (
	"context"
	"runtime"

	"golang.org/x/sys/unix"

	"prywalk/internal/idle"
	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
	"prywalk/internal/procmem"
	"prywalk/internal/schedule"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// # The tracer's run, from its first tick to its last

func (s *Sampler) newTracer() *tracer {
	c := &tracer{
		opts: &s.opts, pool: s.pool, files: procmem.NewBudget(fileReserve),
		out:        outbox{ring: s.ring, events: s.ring.get()},
		ticks:      schedule.NewTicks(s.start, s.opts.Freq),
		budget:     schedule.NewBudget(s.opts.Freq, s.opts.MaxOverhead, runtime.NumCPU()),
		idle:       idle.New(s.opts.Census, uint64(s.start)),
		cpuChooser: &skid.CPUChooser{},
		garbage:    s.garbage, start: s.start, boot: s.boot,
	}
	c.subset = schedule.NewSubset(s.opts.Subset, uint64(s.start))
	c.budget.UseParts()
	c.births.file, _ = procmem.OpenBirths() // else each tick may have had some
	c.done = c.collected
	s.garbage.Await = c.await
	c.observe(s.opts.Events)
	return c
}

// trace runs the ticks, on one OS thread after the other: each ends when this process is stopped, so that
// nobody stays attached to it.
func (s *Sampler) trace(ctx context.Context, c *tracer) {
	defer close(s.ring.full)
	defer c.births.close()
	for again := true; again; {
		again = false
		look.OnThread(func() {
			defer s.failure.guard(s.stop)
			s.tracer.Store(int64(unix.Gettid()))
			again = s.traceHere(ctx, c)
		})
	}
}

// traceHere runs the ticks; again is true if it had to leave before the end. Precondition: the goroutine is locked
// to its OS thread.
func (s *Sampler) traceHere(ctx context.Context, c *tracer) (again bool) {
	ctl := ptrace.NewController(ptrace.Options{ReadOnly: s.opts.ReadOnly, NoCollector: true})
	defer ctl.Close() // also after a panic: nobody stays stopped
	c.looker = look.New(ctl, s.pool, s.opts.Rung)
	defer c.looker.Close()
	c.quota = newUnderQuota("/", ctl.Scheduling())
	defer c.quota.close()
	c.cpuChooser = skid.NewCPUChooser(ctl.Moved) // within the processors that are left
	c.looker.LimitPause(s.opts.MaxPause)
	if s.opts.KernelStacks {
		c.looker.SeeKernelStacks()
	}
	s.result.Scheduling = ctl.Scheduling()
	s.begin(c)
	defer func() {
		if c.lastRead == 0 { // it broke down, or goes on later
			c.lastRead = procmem.Now()
		}
		s.result.Seconds = seconds(c.lastRead - s.begun.Load())
		s.result.Broken += int64(ctl.Stats().Broken)
		s.result.Told += int64(ctl.Stats().Told)
	}()
	if c.lastRead = 0; s.ticks(ctx, c, ctl) {
		c.leave()
		return true
	}
	c.last(procmem.Now())
	ctl.Close()
	return false
}

// begin begins the schedule, once.
func (s *Sampler) begin(c *tracer) {
	start := procmem.Now()
	if s.begun.CompareAndSwap(0, start) {
		c.ticks.Restart(start, s.opts.Freq)
		c.budget.Begin(start)
		c.gaps.Begin(start, procmem.Suspended())
	}
}

// admitAll takes on the processes that have arrived.
func (s *Sampler) admitAll(c *tracer) {
	for {
		select {
		case p := <-s.arrive:
			c.admit(p)
		default:
			return
		}
	}
}

// leave ends the looks under way, because this process is about to be stopped, and hands over what there is.
func (c *tracer) leave() {
	ptrace.Pin()
	c.looker.Leave(c.done)
	ptrace.Unpin()
	c.out.handOver(c.now.at)
}

// lastWait is how long the last looks may take, in nanoseconds.
const lastWait = 100e6

// last looks at every thread once more, so that all clocks are exact, gives up what
// does not stop, and retires everything.
func (c *tracer) last(now int64) {
	c.seeSomebody(now)
	c.ending = true
	for _, p := range c.procs {
		for _, th := range p.list.inOrder {
			c.idle.Wake(&th.idle)
		}
		c.idle.UnparkAll(p.idle)
		p.list.at = 0 // those that have just been born are looked at too
	}
	c.tick(now, now+lastWait)
	c.forgetUntracked(false)
	c.looker.Abort(c.done)
	for _, p := range c.procs {
		c.closeCount(p, procmem.Now())
		for _, th := range p.list.inOrder {
			c.endThread(th)
		}
		c.endProcess(p)
	}
	c.procs = nil
	c.samples.end()
	c.lastRead = procmem.Now()
	if len(c.out.events) > 0 {
		c.send(c.out.events)
		c.out.events = nil
	}
}

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
