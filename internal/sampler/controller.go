package sampler

import (
	"prywalk/internal/look"
	"prywalk/internal/procmem"
)

// listEvery is how often the threads of a process are listed when nothing hints at
// a change, in nanoseconds. A thread that is gone is noticed at its next look.
const listEvery = 50e6

// controller decides at each tick whom to look at, and looks. It runs on the
// tracer's OS thread, and belongs to it.
type controller struct {
	opts    *Options
	looker  *look.Looker
	budget  *procmem.Budget
	ring    *batchRing
	sched   *schedule
	pace    pace
	procs   []*process
	out     batch
	counts  counts
	live    int
	nowTick int64
	flushed int64
}

// admit takes a process on.
func (c *controller) admit(p *process) {
	tasks, err := procmem.OpenTasks(p.target.PID, c.budget)
	if err != nil {
		return // it has ended already
	}
	p.tasks = tasks
	p.threads = map[int]*thread{}
	p.cpu, _ = procmem.ProcessCPU(p.target.PID)
	if p.child {
		p.first = true
	} else {
		p.cpu0 = p.cpu
	}
	c.procs = append(c.procs, p)
	c.out = append(c.out, event{kind: admitted, proc: p})
}

// tick looks at every thread once and collects what stops before the deadline.
func (c *controller) tick(now, deadline int64) {
	c.nowTick = now
	c.counts.ticks++
	c.live = 0
	for _, p := range c.procs {
		if p.gone {
			continue
		}
		c.list(p, now)
		for _, th := range p.order {
			if !th.dead {
				c.live++
				c.begin(th)
			}
		}
	}
	c.counts.threadsMax = max(c.counts.threadsMax, int64(c.live))
	c.looker.Collect(deadline, c.collected)
	c.flushOut()
}

// flushOut hands the events of the tick to the accountant.
func (c *controller) flushOut() {
	if len(c.out) > 0 {
		c.ring.send(c.out)
		c.out = c.ring.get()
	}
}

// begin begins a look at a thread, unless one is still pending.
func (c *controller) begin(th *thread) {
	if th.look.Pending() {
		c.counts.queued++
		return
	}
	if !c.pace.allows(th.look) {
		c.counts.attempted++
		c.counts.fail(look.ReasonMaxPause)
		return
	}
	c.counts.attempted++
	outcome, shot, err := c.looker.Begin(th.look)
	switch {
	case err != nil:
		c.fail(th, err)
	case outcome == look.Reused:
		c.counts.reused++
		th.reuses++
		th.unchanged = reading(th.look.LastSched(), c.nowTick)
	case outcome == look.Done:
		c.finish(th, shot)
	}
}

// collected takes a look that was pending.
func (c *controller) collected(t *look.Thread, s *look.Shot, err error) {
	th := t.Owner.(*thread)
	if err != nil {
		c.fail(th, err)
		return
	}
	c.finish(th, s)
}

// finish counts a look and passes it on.
func (c *controller) finish(th *thread, s *look.Shot) {
	if s.How == look.ByFreeze {
		c.counts.frozen++
		c.counts.freezes.add(s.Stopped)
		c.pace.froze(s.Stopped)
		if s.Restarted {
			c.counts.restarted++
		}
	} else {
		c.counts.peeked++
	}
	c.out = append(c.out, event{kind: looked, thread: th, shot: s, reuses: th.reuses, at: th.unchanged})
	th.reuses = 0
}

// fail counts a look that gave nothing.
func (c *controller) fail(th *thread, err error) {
	reason := look.Reason(err)
	c.counts.fail(reason)
	if reason == look.ReasonExited {
		c.end(th)
	}
}

// end retires a thread.
func (c *controller) end(th *thread) {
	if th.dead || th.look.Pending() {
		return
	}
	th.dead = true
	c.out = append(c.out, event{kind: ended, thread: th, reuses: th.reuses, at: th.unchanged})
	th.look.Close()
	delete(th.proc.threads, th.look.TID)
	th.proc.listed = 0 // whoever goes may have started another
}

// flush asks for a checkpoint, with everything up to now.
func (c *controller) flush(now int64) {
	for _, p := range c.procs {
		for _, th := range p.order {
			if th.reuses > 0 && !th.dead {
				c.out = append(c.out, event{kind: unchanged, thread: th, reuses: th.reuses, at: th.unchanged})
				th.reuses = 0
			}
		}
	}
	c.out = append(c.out, event{kind: flush})
	c.flushOut()
	c.flushed = now
}

// lastWait is how long the last looks may take, in nanoseconds.
const lastWait = 100e6

// last looks at every thread once more, so that all clocks are exact, gives up what
// does not stop, and retires everything.
func (c *controller) last(now int64) {
	c.tick(now, now+lastWait)
	c.looker.Abort(c.collected)
	for _, p := range c.procs {
		if p.gone {
			continue
		}
		if cpu, err := procmem.ProcessCPU(p.target.PID); err == nil {
			p.cpu = cpu
		}
		for _, th := range p.order {
			c.end(th)
		}
		c.vanish(p)
	}
	c.flushOut()
}

// reading makes a reading of a look's clocks.
func reading(s procmem.SchedStat, at int64) Reading {
	return Reading{Wall: at, CPU: int64(s.CPU), RunQueue: int64(s.RunQueue)}
}
