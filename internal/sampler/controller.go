package sampler

import (
	"os"
	"slices"

	"prywalk/internal/census"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// listEvery is how often the threads of a process are listed when nothing hints at
// a change, in nanoseconds. A thread that is gone is noticed at its next look.
const listEvery = 50e6

// controller decides at each tick whom to look at, and looks. It runs on the
// tracer's OS thread, and belongs to it.
type controller struct {
	opts    *Options
	looker  *look.Looker
	pool    *look.Pool
	budget  *procmem.Budget
	ring    *batchRing
	done    func(*look.Thread, *look.Shot, error) // collected, made once
	start   int64                                 // when sampling began, CLOCK_MONOTONIC ns
	ended   int64                                 // when the targets' clocks were read last, the same clock
	boot    uint64                                // the same in clock ticks after boot
	sched   *schedule
	pace    pace
	procs   []*process
	out     batch
	counts  counts
	live    int
	nowTick int64
	// thisTick is the moment of the last tick at which anybody was looked at, and
	// lastTick that of the one before it.
	thisTick, lastTick int64
	flushed            int64
	passed             int64 // the tick after which events were last handed over
	turn               int   // with which of a process's threads the tick begins
	spins              int   // how often this tick may still wait for a stop
	copies             int64 // bytes of the copies that this tick has made
	stays              int64 // since when the tracer has its processor, CLOCK_MONOTONIC ns
	paused             int64 // for how long this tick has let the accountant catch up, ns
	garbage            *collector
	place              *place
	ending             bool           // this is the last tick
	began              bool           // the first has been
	census             *census.Census // nil: none is taken
	naps               wheel
	dueFn              func(*thread) // due, made once
	ranGone            int64         // processor time of the processes that have ended, ns
	watch              watch
	turns              int64 // of reading the threads' clocks for a tally
	tids               []int // of threads, for that
	harm               harm
	births             births
}

// admit takes a process on. One that has ended already goes on to the accountant, which lets go of it.
func (c *controller) admit(p *process) {
	tasks, err := procmem.OpenTasks(p.target.PID, c.budget)
	if err != nil {
		p.gone = true
		c.out = append(c.out, event{kind: vanished, proc: p, at: Reading{Wall: procmem.Now()}})
		return
	}
	p.tasks = tasks
	p.threads = map[int]*thread{}
	p.cpu, _ = procmem.ProcessCPU(p.target.PID)
	if p.child && p.target.StartTime >= c.boot {
		p.first, p.tallied = true, true // all its time lies within the recording
		p.since = max(startOf(p.target.StartTime), c.start)
	} else {
		p.cpu0, p.since = p.cpu, procmem.Now()
	}
	p.stirred = p.cpu
	c.procs = append(c.procs, p)
	c.out = append(c.out, event{kind: admitted, proc: p})
}

// tick looks once at every thread that is not backed off, and collects what stops
// before the deadline.
func (c *controller) tick(now, deadline int64) {
	c.nowTick = now
	if !c.ending && (!c.ring.room() || c.pool.Out() > maxBacklog || c.garbage.draining(now)) {
		c.sched.missed++ // who was asked to stop must not wait for the accountant
		c.collect(deadline)
		c.flushOut()
		return
	}
	c.alive(now)
	c.watch.tick(now, c.sched.period)
	c.counts.ticks++
	c.live = 0
	c.turn++
	c.spins, c.paused, c.copies = spinsIn(deadline-now), 0, 0
	c.lastTick, c.thisTick, c.stays = c.thisTick, now, now
	for _, p := range c.procs {
		c.callRoll(p)
		c.listAndMeet(p, now)
		c.live += len(p.threads)
	}
	c.naps.turn(now, c.dueFn)
	for _, p := range c.procs {
		c.lookAt(p.awake)
		c.stir(p)
		c.rest(p)
	}
	c.procs = slices.DeleteFunc(c.procs, func(p *process) bool { return p.gone })
	c.counts.threadsMax = max(c.counts.threadsMax, int64(c.live))
	ptrace.Pin() // also while it hands over: who has not stopped yet may do so meanwhile
	defer ptrace.Unpin()
	c.collect(deadline)
	cpu, inTheWay := c.looker.InTheWay()
	c.place.ticked(now, inTheWay, cpu)
	if c.passDue(now) {
		c.flushOut()
	}
}

// tickWithin is tick within the budget, if there is one ([pace]): a tick that comes
// while targets have lost too much is withheld.
func (c *controller) tickWithin(now, deadline int64) {
	if !c.pace.limited() {
		c.tick(now, deadline)
		return
	}
	if c.pace.ranTo(c.ranSoFar(now)); c.pace.overdrawn() > 0 {
		c.pace.withheld++
		c.alive(now) // nobody is looked at, but on purpose
		c.watch.tick(now, c.sched.period)
		for _, p := range c.procs {
			c.list(p, now) // one that has ended must be noticed
		}
		c.looker.Collect(deadline, c.done)
		c.flushOut()
		return
	}
	c.tick(now, deadline)
	if self, err := procmem.ProcessCPU(os.Getpid()); err == nil {
		c.pace.ticked(int64(self))
	}
}

// ranSoFar gives the processor time that the kernel has charged to the targets, in
// nanoseconds. Reading the clock of a process with many threads is left out now and
// then.
func (c *controller) ranSoFar(now int64) int64 {
	ran := c.ranGone
	for _, p := range c.procs {
		if now-p.clockAt >= int64(len(p.tids))*clockCost*clockShare {
			p.readCPU(p.alive())
			p.clockAt = now
		}
		ran += int64(p.cpu - p.cpu0)
	}
	return ran
}

// A thread that runs stops within spinFor ns of its interrupt, one that is queued
// when it is scheduled. At most maxSpins waits in vain are made in a tick, and an
// eighth of it is spent on them.
const (
	spinFor  = 40e3
	maxSpins = 8
)

func spinsIn(period int64) int { return int(min(max(period/8/spinFor, 1), maxSpins)) }

// serve finishes the looks whose threads have stopped, before the next thread is
// looked at: they must not stay stopped for that long. fresh: one was just asked to
// stop.
func (c *controller) serve(fresh bool) {
	until := int64(0)
	if fresh && c.spins > 0 {
		until = procmem.Now() + spinFor
	}
	if n := c.looker.Serve(until, c.done); n == 0 && until > 0 {
		c.spins--
	}
}

// Waking the accountant up for the few looks of one tick costs more than their
// unwinding. So looks are handed over together, at most passShots of them and none
// later than passAfter ns, unless a thread or process has come or gone: what is read of
// its memory and files must be read soon.
const (
	passAfter = 100e6
	passShots = 32
)

// passDue reports whether the events so far are to be handed over.
func (c *controller) passDue(now int64) bool {
	shots := 0
	for i := range c.out {
		if e := &c.out[i]; e.kind != looked || now-e.thread.met < nameEvery {
			return true
		}
		shots++
	}
	return shots >= passShots || now-c.passed >= passAfter
}

// flushOut hands the events so far to the accountant, unless it is far behind: the
// controller must not wait while a thread can be stopped.
func (c *controller) flushOut() {
	if len(c.out) > 0 && c.ring.room() {
		ptrace.Pin()
		defer ptrace.Unpin()
		c.ring.send(c.out)
		c.out = c.ring.get()
		c.passed = c.nowTick
	}
}

// lookAt begins a look at each of some threads, beginning each tick with another one.
func (c *controller) lookAt(list []*thread) {
	for i := range list {
		if ptrace.Leaving() && !c.ending {
			return
		}
		if th := list[(i+c.turn)%len(list)]; !th.dead && (th.firstTick == 0 || th.firstTick != c.counts.ticks) {
			c.makeWay()
			c.begin(th)
		}
	}
}

// listAndMeet brings the process's threads up to date, and looks at those that have been born since the last tick before
// all others: what they do first is soon over.
func (c *controller) listAndMeet(p *process, now int64) {
	before, known := len(p.awake), p.first
	c.list(p, now)
	if newborn := p.awake[before:]; known && len(newborn) > 0 {
		c.lookAt(newborn)
		for _, th := range newborn {
			th.firstTick = c.counts.ticks
		}
	}
}

// A tick that has many threads to look at keeps its processor from whoever ran there for as long. So after stayFor ns
// it sleeps for as long, while less than half of the time until the next tick is over. Ticks that are closer than
// closeTicks ns are short, and take their time from the next one's.
const (
	stayFor    = 150e3
	closeTicks = 4e6
)

// makeWay lets others have the tracer's processor for a moment if it has had it for long.
func (c *controller) makeWay() {
	now := procmem.Now()
	if now-c.stays >= stayFor && c.sched.period >= closeTicks && now-c.nowTick < c.sched.period/2 && !c.ending {
		c.stays = c.breathe(now + stayFor)
	}
}

// begin begins a look at a thread, unless one is still pending, or the accountant is far behind.
func (c *controller) begin(th *thread) {
	if !c.roomForCopy() || th.look.Pending() {
		if th.nap.left == 0 { // else its next look tells what it did at this tick, too
			c.counts.queued++
		}
		return
	}
	c.counts.attempted++
	c.alive(procmem.Now())
	ptrace.Pin() // from the interrupt on nothing may come in between
	defer ptrace.Unpin()
	outcome, shot, err := c.looker.Begin(th.look)
	switch {
	case err != nil:
		c.fail(th, err)
	case outcome == look.Reused:
		c.reused(th)
	case outcome == look.Done:
		c.changed(th)
		c.finish(th, shot)
	default:
		c.changed(th)
	}
	c.serve(err == nil && outcome == look.Pending && !th.look.Queued())
}

// collect finishes the looks whose threads stop before the deadline.
func (c *controller) collect(deadline int64) {
	ptrace.Pin()
	defer ptrace.Unpin()
	c.looker.Collect(deadline, c.done)
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
		if s.Stopped > c.counts.freezes.max {
			c.counts.longest = Freeze{th.proc.target.PID, th.look.TID, s.Copied()}
		}
		c.counts.froze(s)
		c.counts.copies.add(s.Copied())
		c.pace.froze(s.Stopped)
		if s.Restarted {
			c.counts.restarted++
		}
		c.broke(s)
	} else {
		c.counts.peeked++
	}
	c.follow(th, s)
	c.unwatched(s.At)
	th.tick = c.counts.ticks
	th.nap.asleep = s.State != Running
	c.account(th, s.Sched)
	c.copies += s.Waits()
	c.out = append(c.out, event{kind: looked, thread: th, shot: s, reuses: th.reuses, at: th.unchanged, length: c.apart()})
	th.reuses = 0
}

// apart gives for how long a look of this tick stands: the time since the tick before.
func (c *controller) apart() int64 { return min(c.thisTick-c.lastTick, mostWeight*c.sched.period) }

// fail counts a look that gave nothing.
func (c *controller) fail(th *thread, err error) {
	reason := look.Reason(err)
	c.counts.fail(reason)
	c.changed(th)
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
	th.left = th.look.TakeLeft()
	c.discard(th)
	c.out = append(c.out, event{
		kind: ended, thread: th, reuses: th.reuses, at: th.unchanged,
		alive: th.alive, rest: c.remains(th), length: c.watch.patience(),
	})
	th.look.Close()
	delete(th.proc.threads, th.look.TID)
	th.proc.hint = true // whoever goes may have started another
}

// flush asks for a checkpoint, with everything up to now.
func (c *controller) flush(now int64) {
	c.settleAll()
	c.out = append(c.out, event{kind: flush})
	c.flushOut() // or after a later tick, if the accountant is far behind
	c.flushed = now
}

// settleAll tells the accountant of all threads that were found unchanged lately.
func (c *controller) settleAll() {
	for _, p := range c.procs {
		for _, th := range p.order {
			c.settle(th, c.counts.ticks, c.thisTick)
			if th.reuses > 0 && !th.dead {
				c.out = append(c.out, event{kind: unchanged, thread: th, reuses: th.reuses, at: th.unchanged})
				th.reuses = 0
			}
		}
	}
}

// leave ends the looks under way, because this process is about to be stopped, and hands over what there is.
func (c *controller) leave() {
	ptrace.Pin()
	c.looker.Leave(c.done)
	ptrace.Unpin()
	c.flushOut()
}

// lastWait is how long the last looks may take, in nanoseconds.
const lastWait = 100e6

// last looks at every thread once more, so that all clocks are exact, gives up what
// does not stop, and retires everything.
func (c *controller) last(now int64) {
	c.ending = true
	for _, p := range c.procs {
		c.wakeAll(p)
		c.rouseAll(p)
		p.listed = 0 // those that have just been born are looked at too
	}
	c.tick(now, now+lastWait)
	c.looker.Abort(c.done)
	for _, p := range c.procs {
		c.closeAccount(p, procmem.Now())
		for _, th := range p.order {
			c.end(th)
		}
		c.vanish(p)
	}
	c.procs = nil
	c.ended = procmem.Now()
	if len(c.out) > 0 {
		c.send(c.out)
		c.out = nil
	}
}

// reading makes a reading of a look's clocks.
func reading(s procmem.SchedStat, at int64) Reading {
	return Reading{Wall: at, CPU: int64(s.CPU), RunQueue: int64(s.RunQueue)}
}
