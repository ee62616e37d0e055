package sampler

import (
	"bytes"
	"slices"

	"prywalk/internal/look"
	"prywalk/internal/procmem"
)

// The kernel goes through all threads of a process to read its clock, which takes up
// to clockCost ns for each, and to list them, which takes up to listCost. Reading the
// clock may take one part in clockShare of the time, listing one in listShare.
const (
	clockCost  = 120
	clockShare = 512
	listCost   = 500
	listShare  = 128
)

// list brings the process's threads up to date, and its clock.
func (c *controller) list(p *process, now int64) {
	n := int64(len(p.tids))
	there, err := p.tasks.Count()
	p.hint = p.hint || err != nil || there != len(p.tids)
	if now-p.clockAt >= n*clockCost*clockShare {
		before := p.cpu
		p.readCPU(err == nil && there > 0)
		if p.clockAt = now; p.cpu != before {
			p.ran = now
		}
		if p.clocked {
			p.slack.decide(now, p.cpu)
		}
	}
	if !p.listDue(now, n*listCost*listShare) {
		c.meetNewborn(p, there, now)
		return
	}
	p.listed, p.listedCPU, p.hint = now, p.cpu, false
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
	p.forgetUnwanted(tids)
	if !p.first {
		p.first = true
		c.openAccount(p, now)
	}
	c.retire(p)
	c.noticeExec(p)
}

// listDue reports whether the threads are to be listed: when there are not as many as
// there were, or nobody has looked for long: one may have come as another went.
// soonest is the least time between two listings.
func (p *process) listDue(now, soonest int64) bool {
	if p.listed == 0 {
		return true
	}
	since := now - p.listed
	if !p.hint && p.clocked && p.cpu == p.listedCPU && since < idleMost {
		return false // nobody has run, and so nobody has started or ended a thread
	}
	return since >= max(listEvery, 4*soonest) || p.hint && since >= soonest
}

// noticeExec tells the accountant when the name of a process's first thread has
// changed, as it does at an exec: the mappings are others then, maybe at the same
// addresses. And it gives the threads what the accountant has found to be copied
// for the new program.
func (c *controller) noticeExec(p *process) {
	if th := p.threads[p.target.PID]; th != nil {
		var name procmem.Comm
		if th.look.Files().Comm(&name) == nil && !bytes.Equal(name.Bytes(), p.leader.Bytes()) {
			if len(p.leader.Bytes()) > 0 {
				c.out = append(c.out, event{kind: renamed, thread: th, proc: p, at: Reading{Wall: c.nowTick}})
			}
			p.leader = name
		}
	}
	if next := p.nextExtra.Swap(nil); next != nil {
		p.extra = *next
		for _, th := range p.order {
			th.look.Extra = p.extra
		}
	}
}

// meet takes a new thread on, unless it is not wanted.
func (c *controller) meet(p *process, tid int, now int64) *thread {
	if now < p.unwanted[tid].again {
		return nil
	}
	lt := look.NewThread(p.target.PID, tid, c.budget)
	var name procmem.Comm
	if lt.Files().Comm(&name) != nil {
		return nil
	}
	if c.opts.Threads != nil && !c.opts.Threads.Match(name.Bytes()) {
		lt.Close()
		p.refuse(tid, now)
		return nil
	}
	delete(p.unwanted, tid)
	th := &thread{proc: p, look: lt, name: name.String(), named: now, met: now}
	lt.Owner, lt.Extra, lt.Memory = th, p.extra, p.target.Memory()
	if p.first {
		th.born, th.bornAt = true, now
	}
	p.threads[tid] = th
	p.order = append(p.order, th)
	p.awake = append(p.awake, th)
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

// vanish ends a process. Its target belongs to the accountant from then on.
func (c *controller) vanish(p *process) {
	if p.gone {
		return
	}
	p.gone = true
	c.closeAccount(p, c.nowTick)
	c.ranGone += int64(p.cpu - p.cpu0)
	p.tasks.Close()
	c.out = append(c.out, event{kind: vanished, proc: p, at: Reading{Wall: c.nowTick}})
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
