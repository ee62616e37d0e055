package tracer

import (
	"prywalk/internal/booking"
	"prywalk/internal/procmem"
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
// (To compare with what was booked instead would take all that running threads used before their first look, and
// after their last, for that of threads that nobody has seen.)

const (
	// countTries is how often the clocks are read at most, until none moves meanwhile.
	countTries = 8
	// countFor bounds how long that may take, in nanoseconds, but for the first time.
	countFor = 5e6
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
	u, ok := c.count(p, func(th *thread, s procmem.SchedStat) { th.end.Before = booking.ReadAt(s, now) })
	p.counted, p.end.Ended = ok, -u.most
	for _, th := range p.list.inOrder {
		if !th.dead && th.turn < u.turn { // it has ended already
			th.end.Before = booking.Reading{}
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
	u, ok := c.count(p, func(th *thread, s procmem.SchedStat) { th.end.Rest = booking.ReadAt(s, now) })
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
