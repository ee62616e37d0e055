// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
)

// # Threads that have ended
//
// The clock of a process is the sum of its threads' clocks and of what those that have ended had used
// (kernel/sched/cputime.c, thread_group_cputime). Both are the same variable that a thread's schedstat shows
// (se.sum_exec_runtime). So their difference is what threads that have ended used, exactly, if they are read while
// none moves.
//
// They are read once when sampling a process begins and once when it ends. A reading of the process's clock before
// and after those of the threads bounds by how much they may have moved meanwhile. Only what is surely of threads
// that have ended is booked as such: at the beginning the upper bound is taken, in the end the lower one.
//
// While a process goes on, they are read each second in which threads of it have ended. The accountant books what looks
// at such threads stand for then ([attribute.Process.ExitedSoFar]): a process may live for ever.
//
// (To compare with what was booked instead would take all that running threads used before their first look, and
// after their last, for that of threads that nobody has seen.)

const (
	// countTries is how often the clocks are read at most, until none moves meanwhile.
	countTries = 8
	// countFor bounds how long that may take, in nanoseconds, but for the first time.
	countFor = 5e6
	// soFarEvery is how often they are read while a process goes on, in nanoseconds. That takes at most one part in
	// soFarShare of the time.
	soFarEvery = 1e9
	soFarShare = 500
	// readAtOnce is how many clocks are read at once: who has stopped meanwhile waits for that.
	readAtOnce = 32
)

// endedCount counts what threads that have ended had used. It belongs to the tracer.
type endedCount struct {
	turns int64 // of reading the threads' clocks
	tids  []int // of threads, for that
}

// endedUsed is what threads of a process that have ended had used, in nanoseconds: at least, and at most. Those
// that had not ended were seen in the turn with that number, or in a later one.
type endedUsed struct{ least, most, turn int64 }

// open notes what the clocks of a process and of its threads show before the first looks.
func (c *endedCount) open(p *process, now int64) {
	u, ok := c.count(p, func(th *thread, s procmem.SchedStat) { th.end.Before = procmem.ReadingAt(s, now) })
	p.counted, p.end.Ended = ok, -u.most
	for _, th := range p.list.inOrder {
		if !th.dead && th.turn < u.turn { // it has ended already
			th.end.Before = sample.Reading{}
		}
	}
}

// close notes what threads of a process that ended during the recording have used. It also notes what the clocks of
// those that go on show, as the last tick may have missed them. Precondition: the process's clock has just been read.
func (c *endedCount) close(p *process, now int64) {
	if !p.target.Alive() {
		p.end.Ended += int64(p.clock.now)
		return
	}
	u, ok := c.count(p, func(th *thread, s procmem.SchedStat) { th.end.Rest = procmem.ReadingAt(s, now) })
	if !ok {
		return // nothing is sure, and what is booked would be below zero
	}
	p.end.Ended += u.least
	for _, th := range p.list.inOrder {
		if !th.dead { // else its end is the accountant's
			th.end.Alive = th.turn >= u.turn
		}
	}
}

// tellEnded tells the accountant what threads have used that have ended so far.
func (c *Tracer) tellEnded(now int64) {
	if c.opts.Threads != nil {
		return
	}
	for _, p := range c.procs {
		e := &p.soFar
		if !e.some || now < e.next || p.gone || !p.counted {
			continue
		}
		e.some = false
		began := procmem.Now()
		ended, ok := c.endedSoFar(p)
		at := procmem.Now()
		e.next = at + max(soFarEvery, (at-began)*soFarShare)
		if ok {
			c.out.add(handover.Event{Kind: handover.EndedSoFar, Proc: p.shared, At: at, Length: p.end.Ended + ended})
		}
	}
}

// endedSoFar gives what those threads have used at least that have ended by now. The accountant knows of their ends.
// The process's clock is read first: who is missing in what comes then has ended.
func (c *Tracer) endedSoFar(p *process) (ns int64, ok bool) {
	all, err := procmem.ProcessCPU(p.target.PID)
	if err != nil {
		return 0, false
	}
	tids, err := p.list.tasks.List(c.ended.tids[:0])
	c.ended.tids = tids
	if err != nil {
		return 0, false
	}
	c.ended.turns++
	ns = int64(all)
	for i, tid := range tids {
		if i%readAtOnce == readAtOnce-1 {
			c.serveStopped()
		}
		th := p.list.byTID[tid]
		sched, err := p.schedStat(th, tid)
		switch {
		case err == nil:
			ns -= int64(sched.CPU)
			if th != nil {
				th.turn = c.ended.turns
			}
		case look.Reason(err) != refusal.Gone:
			return 0, false // it may go on
		}
	}
	for _, th := range p.list.inOrder {
		if th.turn != c.ended.turns && !th.dead {
			if c.endThread(th); !th.dead {
				return 0, false // a look at it is pending
			}
		}
	}
	return max(ns, 0), true
}

// count reads the clocks of a process and of all its threads, and tells saw of those that are known; false if it
// could not.
func (c *endedCount) count(p *process, saw func(*thread, procmem.SchedStat)) (best endedUsed, ok bool) {
	began := procmem.Now()
	for try := range countTries {
		if try > 0 && procmem.Now()-began > countFor {
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
		u := endedUsed{max(int64(before)-alive, 0), max(int64(after)-alive, 0), c.turns}
		if !ok || u.most-u.least < best.most-best.least {
			best, ok = u, true
		}
		if before == after {
			break
		}
	}
	return best, ok
}

// threadsCPU adds up the clocks of a process's threads; false if one ended meanwhile.
func (c *endedCount) threadsCPU(p *process, saw func(*thread, procmem.SchedStat)) (sum int64, complete bool) {
	tids, err := p.list.tasks.List(c.tids[:0])
	c.tids = tids
	if err != nil {
		return 0, false
	}
	for _, tid := range tids {
		th := p.list.byTID[tid]
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
