package sampler

import "prywalk/internal/procmem"

// # Threads that have ended
//
// The clock of a process is the sum of its threads' clocks and of what those that have ended had used
// (kernel/sched/cputime.c, thread_group_cputime). Both are the same variable that a thread's schedstat shows
// (se.sum_exec_runtime), so that their difference is what threads that have ended used, exactly, if they are read
// while none moves. They are read once when sampling a process begins and once when it ends; a reading of the process's
// clock before and after those of the threads bounds by how much they may have moved meanwhile. Only what is surely of threads that have
// ended is booked as such: at the beginning the upper bound is taken, in the end the lower one.
//
// (To compare with what was booked instead would take all that running threads used before their first look, and after
// their last, for that of threads that nobody has seen.)

const (
	// tallyTries is how often the clocks are read at most, until none moves meanwhile.
	tallyTries = 8
	// tallyFor bounds how long that may take, in nanoseconds, but for the first time.
	tallyFor = 5e6
)

// tally is what threads of a process that have ended had used, in nanoseconds: at least, and at most. Those that had
// not were seen in the turn with that number, or in a later one.
type tally struct{ least, most, turn int64 }

// tallyOf reads the clocks of a process and of all its threads, and tells saw of those that are known; false if it
// could not.
func (c *controller) tallyOf(p *process, saw func(*thread, procmem.SchedStat)) (best tally, ok bool) {
	began := procmem.Now()
	for try := range tallyTries {
		if try > 0 && procmem.Now()-began > tallyFor {
			break
		}
		c.turns++
		before, err := procmem.ProcessCPU(p.target.PID)
		if err != nil {
			break
		}
		alive, complete := c.threadsCPU(p, saw)
		after, err := procmem.ProcessCPU(p.target.PID)
		if err != nil || !complete {
			continue // one has just ended
		}
		t := tally{max(int64(before)-alive, 0), max(int64(after)-alive, 0), c.turns}
		if !ok || t.most-t.least < best.most-best.least {
			best, ok = t, true
		}
		if before == after {
			break
		}
	}
	return best, ok
}

// threadsCPU adds up the clocks of a process's threads; false if one ended meanwhile.
func (c *controller) threadsCPU(p *process, saw func(*thread, procmem.SchedStat)) (sum int64, complete bool) {
	tids, err := p.tasks.List(c.tids[:0])
	c.tids = tids
	if err != nil {
		return 0, false
	}
	for _, tid := range tids {
		th := p.threads[tid]
		sched, err := p.schedStat(th, tid)
		if err != nil {
			return 0, false
		}
		sum += int64(sched.CPU)
		if th != nil {
			th.turn = c.turns
			saw(th, sched)
		}
	}
	return sum, true
}

// schedStat reads the clocks of a thread, which may not be known (nil).
func (p *process) schedStat(th *thread, tid int) (procmem.SchedStat, error) {
	if th != nil {
		return th.look.Files().SchedStat()
	}
	return procmem.OpenThread(p.target.PID, tid, nil).SchedStat() // nothing is kept open
}

// openAccount notes what the clocks of a process and of its threads show before the first looks.
func (c *controller) openAccount(p *process, now int64) {
	if c.opts.Threads != nil {
		return // what threads that are not wanted used is not booked
	}
	t, ok := c.tallyOf(p, func(th *thread, s procmem.SchedStat) { th.before = reading(s, now) })
	p.tallied, p.endedCPU = ok, -t.most
	for _, th := range p.order {
		if th.turn < t.turn { // it has ended already
			th.before = Reading{}
		}
	}
}

// closeAccount notes what threads of a process that ended during the recording have used, and what the clocks of those
// that go on show, for whom the last tick has met no more.
func (c *controller) closeAccount(p *process, now int64) {
	if p.closed {
		return
	}
	p.closed = true
	p.readCPU(p.alive())
	if c.opts.Threads != nil || !p.tallied {
		return
	}
	if !p.target.Alive() {
		p.endedCPU += int64(p.cpu)
		return
	}
	t, ok := c.tallyOf(p, func(th *thread, s procmem.SchedStat) { th.rest = reading(s, now) })
	if !ok {
		return // nothing is sure, and what is booked would be below zero
	}
	p.endedCPU += t.least
	for _, th := range p.order {
		th.alive = th.turn >= t.turn
	}
}

// remains gives the clocks of a thread at the recording's end if it goes on and its last look is not of then; else zero.
func (c *controller) remains(th *thread) Reading {
	if !th.alive || th.tick == c.counts.ticks {
		return Reading{}
	}
	return th.rest
}
