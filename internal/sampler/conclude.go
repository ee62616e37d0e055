package sampler

import (
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/booking"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// conclude makes the result of a run from what its parts counted.
func (s *Sampler) conclude(c *tracer, a *accountant) {
	r, n := &s.result, &c.counts
	r.Ticks, r.MissedTicks = n.ticks, c.ticks.Missed
	r.Attempted, r.Frozen, r.Peeked, r.Reused, r.Queued = n.attempted, n.frozen, n.peeked, n.reused, n.queued
	c.samples.conclude(r, n)
	r.NoEvents = s.opts.NoEvents
	r.Inferred, r.Unseen, r.Backlog = n.inferred, n.unseen, n.backlog
	r.Restarted, r.ThreadsMax = n.restarted, n.threadsMax
	r.BrokenCalls, r.ToldCalls = byCall(&c.callEffects.broken, r.Broken), byCall(&c.callEffects.told, r.Told)
	r.Failed = named(n.failed[:], func(i int) string { return look.FailReason(i).String() })
	stops := s.totals.stops
	r.Stacks = s.totals.stacks
	r.FrozenWhole, r.PeekedWhole = s.totals.whole[look.ByFreeze], s.totals.whole[look.ByPeek]
	stops[frames.StopRoot] = 0
	r.Incomplete = named(stops[:], func(i int) string { return frames.StopReason(i).String() })
	r.FramesByMethod = named(a.unwind.methods[:], func(i int) string { return frames.Method(i).String() })
	if n.freezes.n > 0 {
		r.FreezeP50, r.FreezeP99, r.FreezeMax = n.freezes.quantile(0.5), n.freezes.quantile(0.99), n.freezes.max
		r.Freezes, r.Long, r.LongestFreeze = n.freezes.buckets(), n.longFreezes(), n.longest
		r.CopiedP50, r.CopiedP99, r.CopiedMax = n.copies.quantile(0.5), n.copies.quantile(0.99), n.copies.max
	}
	r.Late = n.late
	r.Lost, r.Withheld, r.Rates = c.budget.Lost()/1e9, c.budget.Withheld, a.rates.list
	if begun := s.begun.Load(); begun != 0 {
		r.Begun = time.Unix(0, a.unix.Of(begun))
	}
	if r.Seconds > 0 {
		r.Freq = float64(n.ticks) / r.Seconds
	}
	w := &c.gaps
	r.Gaps, r.NotObserved, r.LongestGap = w.Gaps, seconds(w.Total), seconds(w.Longest)
	r.Suspended = seconds(w.Suspended)
	r.Subset, r.NotDrawn = s.opts.Subset, c.subset.NotDrawn
	r.FreqAsked, r.MaxOverhead, r.MaxPause = s.opts.Freq, s.opts.MaxOverhead, s.opts.MaxPause
	r.Samples, r.Complete = s.totals.samples, s.totals.complete
	r.SlowestThread, r.SlowestTID = a.rates.slowest, a.rates.slowestTID
	r.TargetCPU, r.ProfiledCPU = seconds(s.totals.target), seconds(s.totals.profiled)
	r.UnobservedCPU, r.ExitedUnseenCPU = seconds(s.totals.unobserved), seconds(s.totals.exitedUnseen)
	r.ShortLivedCPU = seconds(s.totals.shortLived)
	r.EstimatedCPU = seconds(s.totals.estimated)
	c.quota.tell(r)
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		r.SelfCPU = seconds(ru.Utime.Nano() + ru.Stime.Nano())
	}
}

// longFreezes names the causes.
func (c *counts) longFreezes() map[string]LongFreezes {
	m := map[string]LongFreezes{}
	for cause, l := range c.long {
		if l.N > 0 {
			m[ptrace.Cause(cause).String()] = l
		}
	}
	return m
}

// named makes a map of the counts that are not zero.
func named(counts []int64, name func(int) string) map[string]int64 {
	m := map[string]int64{}
	for i, n := range counts {
		if n != 0 {
			m[name(i)] += n
		}
	}
	return m
}

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
	p.counted, p.end.ended = ok, -u.most
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
		p.end.ended += int64(p.clock.now)
		return
	}
	u, ok := c.count(p, func(th *thread, s procmem.SchedStat) { th.end.Rest = booking.ReadAt(s, now) })
	if !ok {
		return // nothing is sure, and what is booked would be below zero
	}
	p.end.ended += u.least
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
