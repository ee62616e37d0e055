// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math/rand/v2"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

const period = time.Second / 99

type asleep struct {
	threads map[int]bool
	// Stacks without a stop: all, complete ones, proven by a register on the stack, recalled by one from an earlier
	// stop.
	reads, whole, proven, recalled int64
	// Sleepers stopped after a passive read that lacked a register; complete ones.
	stopped, wholeStopped int64
	unchanged             int64
	reasons               map[string]int64
	where                 map[string]int64
}

func watch(ctx context.Context, r *running, d time.Duration) (*asleep, error) {
	a := &asleep{threads: map[int]bool{}, reasons: map[string]int64{}, where: map[string]int64{}}
	ps := newProcesses()
	defer ps.close()
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		pool := observe.NewPool(64)
		l := observe.New(ctl, pool, observe.ModeAuto)
		done := func(t *observe.Thread, s *observe.RawSample, err error) bool {
			if t == nil {
				return false
			}
			th := ps.list[t.ID.PID].threads[t.ID.TID]
			if err == nil {
				a.count(ps, th, s)
				pool.Put(s)
			} else if observe.Reason(err) == errs.Exited {
				th.forget()
			}
			return true
		}
		for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
			next := procmem.Now() + int64(period)*3/4 + rand.Int64N(int64(period)/2)
			ps.each(r.pids(), func(th *thread) {
				switch outcome, s, err := l.Begin(th.look); {
				case err != nil:
					done(th.look, nil, err)
				case outcome == observe.Done:
					done(th.look, s, nil)
				case outcome == observe.Unchanged && th.look.Asleep():
					a.unchanged++
				case outcome == observe.Pending:
					for done(l.Stops.NextStopped(0)) {
					}
				}
			})
			for done(l.Stops.Next(ptrace.Moment(next))) {
			}
			time.Sleep(time.Duration(next - procmem.Now()))
		}
		for _, p := range ps.list {
			for _, th := range p.threads {
				l.Stops.Cancel(th.look)
			}
		}
	})
	return a, ctx.Err()
}

func (a *asleep) count(ps *processes, th *thread, s *observe.RawSample) {
	c := ps.walk(th.proc, th.look, s)
	if s.State != sample.Sleeping && s.State != sample.Disk {
		return
	}
	a.threads[th.look.ID.TID] = true
	if s.How == observe.ByStop {
		a.stopped++
		if c.stop.Complete() {
			a.wholeStopped++
		}
		return
	}
	a.reads++
	switch {
	case !c.stop.Complete():
		a.reasons[c.stop.String()]++
		a.where[ps.describe(th.proc, &c)]++
	case s.Recalled():
		a.recalled++
		a.whole++
	case c.proven > 0:
		a.proven++
		a.whole++
	default:
		a.whole++
	}
}
