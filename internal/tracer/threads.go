// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"slices"

	"prywalk/internal/handover"
	"prywalk/internal/idle"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// list brings the process's threads up to date, and its clock.
func (c *Tracer) list(p *process, now int64) {
	l := &p.list
	there, err := l.tasks.Count()
	l.hint = l.hint || err != nil || there != len(l.tids)
	if p.clockDue(now) && (p.idle.AnyBackedOff() || now-p.clock.at >= clockEvery) {
		p.readClockAt(now, err == nil && there > 0)
	}
	if !l.due(now, &p.clock) || l.begun && c.walks.away() {
		return
	}
	l.at, l.cpu, l.hint = now, p.clock.now, false
	l.n++
	tids, err := l.tasks.List(l.tids[:0])
	l.tids = tids
	if err != nil || !p.target.Alive() { // a zombie still lists its first thread
		tids = nil
	}
	open := c.openAhead(p, tids, now, !l.begun)
	for _, tid := range tids {
		th := l.byTID[tid]
		if th == nil && !open {
			continue // it is found at a later list
		}
		if th == nil {
			c.drainInTime()
			if th = c.meet(p, tid, now); th == nil {
				continue
			}
		}
		th.listing = l.n
	}
	l.forgetUnwanted(tids)
	if !l.begun {
		l.begun = true
		if c.opts.Threads == nil { // else what threads that are not wanted used is not booked
			c.ended.open(p, now)
		}
	}
	c.retire(p)
	c.noticeExec(p)
}

// noticeExec tells the accountant when the name of a process's first thread has
// changed, as it does at an exec: the mappings are others then, maybe at the same
// addresses. And it gives the threads what the accountant has found to be copied
// for the new program.
func (c *Tracer) noticeExec(p *process) {
	if th := p.list.byTID[p.target.PID]; th != nil {
		var name procmem.Comm
		if th.look.Files().Comm(&name) == nil && !bytes.Equal(name.Bytes(), p.list.leader.Bytes()) {
			if len(p.list.leader.Bytes()) > 0 {
				c.tellSleptAgain()
				if c.newborns != nil {
					c.walked()
					c.newborns.Execed(p.target.PID)
				}
				c.out.add(handover.Event{Kind: handover.Renamed, Thread: th.shared, Proc: p.shared, At: c.now.at})
			}
			p.list.leader = name
		}
	}
	if next, ok := p.shared.TakeExtra(); ok {
		p.extra = next
		for _, th := range p.list.inOrder {
			th.look.Extra = p.extra
		}
	}
}

// meet takes a new thread on, unless it is not wanted.
func (c *Tracer) meet(p *process, tid int, now int64) *thread {
	if now < p.list.unwanted[tid].again {
		return nil
	}
	lt := c.open(p, tid)
	ptrace.Pin() // a return from a call of the kernel takes up such a request, too
	name, noUser, err := nameOf(lt.Files())
	ptrace.Unpin()
	if err != nil {
		lt.Close()
		return nil
	}
	if c.opts.Threads != nil && !c.opts.Threads.Match(name.Bytes()) {
		lt.Close()
		p.list.refuse(tid, now)
		return nil
	}
	th := c.takeOn(p, lt, &name, now)
	th.noUser = noUser
	return th
}

// takeOn takes a new thread on that is wanted.
func (c *Tracer) takeOn(p *process, lt *look.Thread, name *procmem.Comm, now int64) *thread {
	ptrace.Pin() // as above: who was asked to stop at an earlier tick may do so meanwhile
	defer ptrace.Unpin()
	tid := lt.TID
	delete(p.list.unwanted, tid)
	c.rest.Changed(now)
	th := &thread{proc: p, look: lt, born: p.list.begun}
	c.lastTask++
	th.shared = &handover.Thread{
		ID: c.lastTask, Proc: p.shared, TID: tid, Walks: lt.Walks(), Name: name.String(), Met: now,
	}
	th.idle = idle.Thread{Owner: th, Look: lt}
	lt.SetRate(c.opts.Freq)
	if tid == p.target.PID {
		lt.CopyFirst(p.shared.FirstCopy())
	}
	lt.Owner, lt.Extra, lt.Memory, lt.Plans = th, p.extra, p.target.Memory(), &p.shared.Plans
	if th.born {
		th.shared.BornAt = now
	}
	p.list.byTID[tid] = th
	p.list.inOrder = append(p.list.inOrder, th)
	p.idle.Add(&th.idle)
	c.adoptStrays(th)
	c.grownUp(th)
	return th
}

// nameOf gives a thread's name, and whether it never runs in user space, by a file that its first look needs, too. Each
// file that is opened of a thread costs a few microseconds, and some more when the thread ends. The kernel escapes a
// backslash there (fs/proc/array.c, proc_task_name).
func nameOf(f *procmem.ThreadFiles) (name procmem.Comm, noUser bool, err error) {
	var st procmem.Stat
	if err := f.Stat(&st); err != nil || bytes.IndexByte(st.Comm.Bytes(), '\\') < 0 {
		return st.Comm, st.UserWorker(), err
	}
	err = f.Comm(&name)
	return name, st.UserWorker(), err
}

// endThread retires a thread.
func (c *Tracer) endThread(th *thread) {
	if th.dead || th.look.Pending() {
		return
	}
	th.dead = true
	c.rest.Changed(c.now.at)
	c.counts.unseen += c.idle.Forget(&th.idle)
	c.counts.ran(th.look.Ran())
	e := &th.end
	th.proc.soFar.some = th.proc.soFar.some || th.born
	c.endSamples(th)
	c.unfollow(th)
	e.Left, e.Patience = th.look.TakeLeft(), c.gaps.Patience()
	if !e.Alive || th.tick == c.counts.ticks { // its last look is of the recording's end
		e.Rest = sample.Reading{}
	}
	c.out.add(handover.Event{Kind: handover.ThreadEnded, Thread: th.shared, Before: th.idle.Unchanged, End: e})
	th.look.Close()
	delete(th.proc.list.byTID, th.look.TID)
	th.proc.list.hint = true // whoever goes may have started another
}

// retire drops the threads that the last listing did not show.
func (c *Tracer) retire(p *process) {
	l := &p.list
	for _, th := range l.inOrder {
		if th.listing != l.n {
			c.endThread(th)
		}
	}
	l.inOrder = slices.DeleteFunc(l.inOrder, func(th *thread) bool { return th.dead })
	if len(l.inOrder) == 0 && !p.target.Alive() {
		c.endProcess(p)
	}
}

// endProcess ends a process. Its target belongs to the accountant from then on.
func (c *Tracer) endProcess(p *process) {
	if p.gone {
		return
	}
	p.gone = true
	c.closeCount(p, c.now.at)
	p.end.Charged, p.end.Before = p.clock.ran(), int64(p.clock.first)
	c.ranGone += p.end.Charged
	c.samples.forget(p)
	c.forgetProcess(p)
	p.list.tasks.Close()
	c.claimStrays(p)
	c.out.add(handover.Event{Kind: handover.ProcessEnded, Proc: p.shared, At: c.now.at, Used: &p.end})
}

// closeCount notes, once, what there is to know of a process's end.
func (c *Tracer) closeCount(p *process, now int64) {
	if p.closed {
		return
	}
	p.closed = true
	p.readClock(p.alive())
	if c.opts.Threads == nil && p.counted {
		c.ended.close(p, now)
	}
}

// allGone reports whether no process is left.
func (c *Tracer) allGone() bool {
	for _, p := range c.procs {
		if !p.gone {
			return false
		}
	}
	return true
}
