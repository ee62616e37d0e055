package idle

import (
	"prywalk/internal/booking"
	"prywalk/internal/census"
)

// parkAfter is how long a thread must have been asleep before it is left to a census, in nanoseconds, if its stack is
// not settled. Then it has not been walked yet, or is incomplete and may be looked at again. Others are left at once.
const parkAfter = 1e9

// entry is a thread of a process in the kernel's order, which is that of their
// birth, and the counts at which it was parked.
type entry struct {
	th        *Thread // nil: not known, or not wanted
	tid       int
	parked    bool
	runs, cpu uint64
}

// TakeCensus takes a census of a process, if censuses are taken, and wakes the parked threads that have run. It gives
// how many threads there are; ok is false if none was taken.
func (c *Policy) TakeCensus(pid int, p *Process) (threads int, ok bool) {
	p.counted = false
	if c.census == nil {
		return 0, false
	}
	if c.census.Take(pid) != nil {
		c.unparkAll(p.census)
		p.census = p.census[:0]
		return 0, false
	}
	p.counted = true
	c.compare(p)
	return c.census.Len(), true
}

// compare brings a process's entries up to date and wakes the threads that have run. Threads that
// have ended leave a gap, new ones come last.
func (c *Policy) compare(p *Process) {
	old := p.census
	p.census = p.census[:0]
	for i := range c.census.Len() {
		r := c.census.At(i)
		e := entry{tid: r.TID}
		k := 0
		for k < len(old) && old[k].tid != r.TID {
			k++
		}
		c.unparkAll(old[:k])
		if k < len(old) {
			e = old[k]
			k++
		}
		old = old[k:]
		p.census = append(p.census, c.check(p, e, &r)) // behind what old still holds
		if th := p.census[i].th; th != nil && !p.census[i].parked {
			th.censusAt = i
			th.Look.Counted(c.census, i, c.at)
		}
	}
	c.unparkAll(old)
}

// check compares an entry with the census.
func (c *Policy) check(p *Process, e entry, r *census.Record) entry {
	switch {
	case e.parked && (e.runs != r.Runs || e.cpu != r.CPU):
		c.unpark(e.th, c.tick-1, c.lastAt)
		e.parked = false
	case !e.parked && (e.th == nil || e.th.Gone):
		e.th = p.find(r.TID)
	}
	return e
}

// unparkAll wakes the threads of entries that are not found any more.
func (c *Policy) unparkAll(list []entry) {
	for i := range list {
		if list[i].parked {
			c.unpark(list[i].th, c.tick-1, c.lastAt)
			list[i].parked = false
		}
	}
}

// park leaves a thread alone until a census shows that it has run; false if it stands
// in none.
func (c *Policy) park(th *Thread) bool {
	p := th.proc
	if th.censusAt >= len(p.census) || p.census[th.censusAt].th != th {
		return false
	}
	s := th.Look.LastSched()
	e := &p.census[th.censusAt]
	e.parked, e.runs, e.cpu = true, s.Runs, s.CPU
	th.parked, th.left = true, c.tick
	p.parked++
	return true
}

// unpark makes a parked thread due; up to the given tick, at this moment, it was found unchanged. It
// may have ended meanwhile.
func (c *Policy) unpark(th *Thread, tick, at int64) {
	if !th.parked {
		return
	}
	c.countParked(th, tick, at)
	th.parked, th.left = false, 0
	th.proc.parked--
	th.proc.Awake = append(th.proc.Awake, th)
}

// CountParked counts the ticks so far at which a thread, if it is parked, was found unchanged.
func (c *Policy) CountParked(th *Thread) { c.countParked(th, c.tick, c.at) }

func (c *Policy) countParked(th *Thread, tick, at int64) {
	if n := tick - th.left; th.parked && n > 0 {
		th.left = tick
		th.found(n, booking.ReadAt(th.Look.LastSched(), at))
	}
}

// UnparkAll makes all parked threads of a process due.
func (c *Policy) UnparkAll(p *Process) {
	for i := range p.census {
		if e := &p.census[i]; e.parked {
			e.parked = false
			c.unpark(e.th, c.tick, c.at)
		}
	}
}
