// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"

	"prywalk/internal/backoff"
	"prywalk/ptrace"
)

// due chooses the threads of a tick: all that are not backed off, or a random subset.
type due struct {
	*state
	stops        *stops
	observations *observations
}

func (d *due) observeAll() {
	all := d.draw()
	for _, p := range d.procs {
		if all {
			d.observe(p.backoff.Due)
			d.observeBackedOff(p)
		} else {
			d.observeDrawn(p.backoff.Due)
		}
		d.Backoff.BackOff(p.backoff)
	}
}

func (d *due) observe(list []*backoff.Thread) {
	for i := range list {
		if ptrace.Suspending() {
			return
		}
		th := ownerOf(list[(i+d.tickState.rotation)%len(list)])
		if !th.gone && th.observedEarlyAt != d.counts.ticks {
			d.stops.yield()
			d.observations.observe(th)
		}
	}
}

// observeBackedOff observes backed-off threads if one must have run; those that have run before come first.
func (d *due) observeBackedOff(p *process) {
	if !d.Backoff.SearchDue(p.backoff) {
		return
	}
	n := d.wakeAndObserve(p, false)
	if d.Backoff.Unexplained(p.backoff) {
		n += d.wakeAndObserve(p, true)
		d.Backoff.AllObserved(p.backoff)
	}
	d.Backoff.SearchEnded(p.backoff, n)
}

func (d *due) wakeAndObserve(p *process, all bool) int {
	already := len(p.backoff.Due)
	for _, th := range p.list.inOrder {
		if all || th.Backoff.HasRun() {
			d.Backoff.Wake(&th.Backoff)
		}
	}
	woken := p.backoff.Due[already:]
	d.observe(woken)
	return len(woken)
}

// draw returns true if every due thread is observed.
func (d *due) draw() (all bool) {
	if d.Ending {
		return true // for each thread's clocks, and its sleep so far
	}
	due := 0
	for _, p := range d.procs {
		due += len(p.backoff.Due)
	}
	most := d.budget.Admit(due)
	duePerDrawn := d.subset.Begin(due, most)
	d.tickState.interval = int64(float64(d.tickState.interval) * duePerDrawn)
	return duePerDrawn == 1
}

// observeDrawn observes the drawn threads, the youngest first, as they may be short-lived.
func (d *due) observeDrawn(list []*backoff.Thread) {
	for _, t := range slices.Backward(list) {
		if ptrace.Suspending() {
			return
		}
		if th := ownerOf(t); d.subset.Draw() && !th.gone && th.observedEarlyAt != d.counts.ticks {
			d.stops.yield()
			d.observations.observe(th)
		}
	}
}

func (d *due) observePreempted() {
	if !d.cpus.MayShareTargetCPU() || !d.Observer.WokenByTimer() {
		return
	}
	for _, p := range d.procs {
		for _, t := range p.backoff.Due {
			if th := ownerOf(t); !th.gone && !d.Observer.AddCandidate(th.Observed) {
				return
			}
		}
	}
	observed := d.Observer.FindPreempted()
	if observed == nil {
		return
	}
	if th := d.thread(observed.PID, observed.TID); th != nil {
		th.observedEarlyAt = d.counts.ticks
		d.observations.observe(th)
	}
}
