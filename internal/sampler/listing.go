package sampler

import (
	"slices"

	"prywalk/internal/look"
	"prywalk/internal/procmem"
)

// list brings the process's threads up to date, and its clock.
func (c *controller) list(p *process, now int64) {
	if cpu, err := procmem.ProcessCPU(p.target.PID); err == nil {
		p.cpu = cpu
	}
	if p.listed != 0 && now-p.listed < listEvery {
		return
	}
	p.listed = now
	p.seen++
	tids, err := p.tasks.List(p.tids[:0])
	p.tids = tids
	if err != nil || !p.target.Alive() { // a zombie still lists its first thread
		tids = nil
	}
	for _, tid := range tids {
		th := p.threads[tid]
		if th == nil {
			if th = c.meet(p, tid, now); th == nil {
				continue
			}
		}
		th.generation = p.seen
	}
	p.first = true
	c.retire(p)
}

// meet takes a new thread on, unless it is not wanted.
func (c *controller) meet(p *process, tid int, now int64) *thread {
	lt := look.NewThread(p.target.PID, tid, c.budget)
	var name procmem.Comm
	if lt.Files().Comm(&name) != nil {
		return nil
	}
	if c.opts.Threads != nil && !c.opts.Threads.Match(name.Bytes()) {
		lt.Close()
		return nil
	}
	th := &thread{proc: p, look: lt, name: name.String(), named: now}
	lt.Owner, lt.Extra = th, p.extra
	if p.first {
		th.born, th.bornAt = true, now
	}
	p.threads[tid] = th
	p.order = append(p.order, th)
	return th
}

// retire drops the threads that the last listing did not show.
func (c *controller) retire(p *process) {
	for _, th := range p.order {
		if th.generation != p.seen {
			c.end(th)
		}
	}
	p.order = slices.DeleteFunc(p.order, func(th *thread) bool { return th.dead })
	if len(p.order) == 0 && !p.target.Alive() {
		c.vanish(p)
	}
}

// vanish ends a process.
func (c *controller) vanish(p *process) {
	p.gone = true
	p.tasks.Close()
	c.out = append(c.out, event{kind: vanished, proc: p})
}

// allGone reports whether no process is left.
func (c *controller) allGone() bool {
	for _, p := range c.procs {
		if !p.gone {
			return false
		}
	}
	return true
}
