// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

type same struct {
	sleeps int64 // proven to be the same sleep at the passive read and the stop
	equal  int64
	short  int64 // the passive stack is incomplete, its part is equal
	again  int64 // seen by the second passive read in the same sleep
	moved  int64 // the thread ran meanwhile: nothing is compared
	unsafe int64 // in a call that a stop would harm
	differ []string
	where  map[string]int64
	calls  map[string]int64
}

func compare(ctx context.Context, r *running, d time.Duration) (*same, error) {
	c := &same{where: map[string]int64{}, calls: map[string]int64{}}
	ps := newProcesses()
	defer ps.close()
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		pool := observe.NewPool(8)
		p := &pair{same: c, ps: ps, reader: observe.New(ctl, pool, observe.ModePassiveOnly),
			stopper: observe.New(ctl, pool, observe.ModeAlwaysStop), pool: pool}
		for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
			next := procmem.Now() + int64(period)
			ps.each(r.pids(), p.compare)
			time.Sleep(time.Duration(next - procmem.Now()))
		}
	})
	return c, ctx.Err()
}

type pair struct {
	*same
	ps              *processes
	reader, stopper *observe.Observer
	pool            *observe.Pool
}

func (p *pair) compare(th *thread) {
	outcome, s, err := p.reader.Begin(th.look)
	switch {
	case err != nil:
		if observe.Reason(err) == errs.Exited {
			th.forget()
		}
		return
	case outcome != observe.Done:
		return
	}
	defer p.pool.Put(s)
	passive := p.ps.walk(th.proc, th.look, s)
	switch {
	case s.State != sample.Sleeping || s.Sched.Runs <= th.done:
		return
	case !observe.Interruptible(th.look.ID, &s.Call, nil):
		p.unsafe++
		return
	}
	p.stopAfter(th, s, &passive)
}

func (p *pair) stopAfter(th *thread, s *observe.RawSample, passive *chain) {
	t := th.proc.newLook(th.look.ID.TID)
	defer t.Close()
	f, err := stopThread(p.stopper, t)
	if err != nil || f == nil {
		return
	}
	defer p.pool.Put(f)
	th.done = f.Sched.Runs + 1
	if !stayed(s, f) {
		p.moved++
		return
	}
	stopped := p.ps.walk(th.proc, t, f)
	p.sleeps++
	p.calls[s.WaitReason()]++
	again, ok := p.readAgain(th, s, f)
	if ok {
		p.again++
	}
	p.judge(th, passive, &stopped, again)
}

// stayed: the thread arrived on a processor once, to stop, and is in the same place, perhaps set back to the system
// call's instruction.
func stayed(s, f *observe.RawSample) bool {
	return f.Sched.Runs == s.Sched.Runs+1 && f.Regs.SP() == s.Regs.SP() && s.Regs.PC-f.Regs.PC <= 4
}

// readAgain passively reads a thread that goes back to sleep after a stop; false: it does not, or has done something
// else.
func (p *pair) readAgain(th *thread, s, f *observe.RawSample) (*chain, bool) {
	t := th.proc.newLook(th.look.ID.TID)
	defer t.Close()
	for end := procmem.Now() + waitLimit; procmem.Now() < end; time.Sleep(20 * time.Microsecond) {
		outcome, again, err := p.reader.Begin(t)
		if err != nil {
			if observe.Reason(err) == errs.Running {
				continue
			}
			return nil, false
		}
		if outcome != observe.Done {
			return nil, false
		}
		defer p.pool.Put(again)
		if again.Sched.Runs != f.Sched.Runs+1 || again.Regs.SP() != s.Regs.SP() || again.Regs.PC != s.Regs.PC {
			return nil, false
		}
		c := p.ps.walk(th.proc, t, again)
		return &c, true
	}
	return nil, false
}

func (p *pair) judge(th *thread, passive, stopped, again *chain) {
	short := false
	for _, c := range []*chain{passive, again} {
		if c == nil {
			continue
		}
		n := min(len(c.pcs), len(stopped.pcs))
		switch {
		case c.stop == stopped.stop && sameFrames(c, stopped, len(c.pcs)) && len(c.pcs) == len(stopped.pcs):
		case !c.stop.Complete() && n == len(c.pcs) && sameFrames(c, stopped, n):
			short = true
			p.where[p.ps.describe(th.proc, c)]++
		default:
			p.differ = append(p.differ, fmt.Sprintf("passive read: %s; stop: %s", p.ps.describe(th.proc, c),
				p.ps.describe(th.proc, stopped)))
			return
		}
	}
	if short {
		p.short++
	} else {
		p.equal++
	}
}

// sameFrames compares the first n frames. The innermost program counter of a stopped thread may be that of the
// instruction that repeats the system call.
func sameFrames(a, b *chain, n int) bool {
	return n <= 1 || slices.Equal(a.pcs[1:n], b.pcs[1:n]) && slices.Equal(a.sps[:n], b.sps[:n])
}
