package sampler

import "prywalk/internal/census"

// rollEntry is a thread of a process in the kernel's order, which is that of their
// birth, and the counts at which it was left to rest.
type rollEntry struct {
	th        *thread // nil: not known, or not wanted
	tid       int
	resting   bool
	runs, cpu uint64
}

// callRoll takes a census of a process, if censuses are taken: threads that sleep are
// then not looked at before it shows that they have run. That they have not is proved
// as by a look of their own.
func (c *controller) callRoll(p *process) {
	p.rolled = false
	if c.census == nil {
		return
	}
	if c.census.Take(p.target.PID) != nil {
		c.dismiss(p.roll)
		p.roll = p.roll[:0]
		return
	}
	p.rolled = true
	p.hint = p.hint || c.census.Len() != len(p.tids)
	c.compare(p)
	c.counts.attempted += int64(p.resting)
	c.counts.reused += int64(p.resting)
}

// compare brings the roll up to date and wakes the threads that have run. Threads that
// have ended leave a gap, new ones come last.
func (c *controller) compare(p *process) {
	old := p.roll
	p.roll = p.roll[:0]
	for i := range c.census.Len() {
		r := c.census.At(i)
		e := rollEntry{tid: r.TID}
		k := 0
		for k < len(old) && old[k].tid != r.TID {
			k++
		}
		c.dismiss(old[:k])
		if k < len(old) {
			e = old[k]
			k++
		}
		old = old[k:]
		p.roll = append(p.roll, c.check(p, e, &r)) // behind what old still holds
		if th := p.roll[i].th; th != nil && !p.roll[i].resting {
			th.nap.place = i
		}
	}
	c.dismiss(old)
}

// check compares an entry with the census.
func (c *controller) check(p *process, e rollEntry, r *census.Record) rollEntry {
	switch {
	case e.resting && (e.runs != r.Runs || e.cpu != r.CPU):
		c.rouse(e.th, c.counts.ticks-1, c.lastTick)
		e.resting = false
	case !e.resting && (e.th == nil || e.th.dead):
		e.th = p.threads[r.TID]
	}
	return e
}

// dismiss wakes the threads of entries that are not found any more.
func (c *controller) dismiss(list []rollEntry) {
	for i := range list {
		if list[i].resting {
			c.rouse(list[i].th, c.counts.ticks-1, c.lastTick)
			list[i].resting = false
		}
	}
}

// layDown lets a thread rest until a census shows that it has run; false if it stands
// in none.
func (c *controller) layDown(th *thread) bool {
	p := th.proc
	if th.nap.place >= len(p.roll) || p.roll[th.nap.place].th != th {
		return false
	}
	s := th.look.LastSched()
	e := &p.roll[th.nap.place]
	e.resting, e.runs, e.cpu = true, s.Runs, s.CPU
	th.nap.resting, th.nap.left = true, c.counts.ticks
	p.resting++
	return true
}

// rouse makes a resting thread due; up to the given tick it was found unchanged. It
// may have ended meanwhile.
func (c *controller) rouse(th *thread, tick, at int64) {
	if !th.nap.resting {
		return
	}
	c.settle(th, tick, at)
	th.nap.resting, th.nap.left = false, 0
	th.proc.resting--
	th.proc.awake = append(th.proc.awake, th)
}

// settle counts the ticks up to the given one at which a resting thread was found
// unchanged.
func (c *controller) settle(th *thread, tick, at int64) {
	if n := tick - th.nap.left; th.nap.resting && n > 0 {
		th.reuses += n
		th.nap.left = tick
		th.unchanged = reading(th.look.LastSched(), at)
	}
}

// rouseAll makes all resting threads of a process due.
func (c *controller) rouseAll(p *process) {
	for i := range p.roll {
		if e := &p.roll[i]; e.resting {
			e.resting = false
			c.rouse(e.th, c.counts.ticks, c.thisTick)
		}
	}
}
