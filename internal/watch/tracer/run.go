// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/cgroup"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

type run struct {
	lastTick      ptrace.Moment
	lastRead      ptrace.Moment // of all clocks; 0 means none
	length        time.Duration // from the first tick to the last reading
	brokenCalls   int64
	repeatedCalls int64
	scheduling    string
}

// Run makes ticks until ctx ends or the last process has ended. Its OS thread ends before this process is stopped,
// which detaches all threads. After a panic it calls stop.
func (t *Tracer) Run(ctx context.Context, stop func()) {
	defer t.shared.Queue.Close()
	defer t.creations.close()
	for again := true; again; {
		again = false
		procmem.OnOSThread(func() {
			defer t.shared.Failure.Guard(stop)
			t.control.thread.Store(int64(unix.Gettid()))
			again = t.runHere(ctx)
		})
	}
}

// runHere returns true if it must be called on another OS thread. Precondition: the goroutine is locked to its OS
// thread.
func (t *Tracer) runHere(ctx context.Context) (again bool) {
	limits := cgroup.Root("/").CPUQuotas()
	ctl := ptrace.NewController(ptrace.Options{ReadOnly: t.opts.ReadOnly, NoGC: true, SleepUntilStop: len(limits) > 0})
	defer ctl.Close() // also after a panic
	t.shared.Observer = observe.New(ctl, t.shared.Pool, t.opts.Mode)
	defer t.shared.Observer.Close()
	t.tracked.holdDirs(false)
	if ctl.Scheduling() == "fifo" {
		if opener := procmem.NewPathOpener(); opener != nil {
			defer opener.Close()
			t.tracked.holdDirs(true)
		}
	}
	t.pace.openQuota(limits, ctl.Scheduling())
	defer t.shared.QuotaGate.Open()
	defer t.pace.closeQuota()
	t.stops.chooseCPUs(ctl) // within the quota's CPUs
	t.shared.Observer.LimitStops(t.opts.MaxPause)
	raised := ctl.Scheduling() != "normal"
	t.shared.Observer.LimitLockWait(raised)
	if !raised && t.stops.canMove() && !t.pace.underQuota() {
		t.observations.stopOnlyOnOtherCPUs()
	}
	if t.opts.KernelStacks {
		t.shared.Observer.ReadKernelStacks()
	}
	t.run.scheduling = ctl.Scheduling()
	t.beginOnce()
	defer t.run.setTotals(t.control, ctl)
	t.run.lastRead = 0
	if t.makeTicks(ctx, ctl) {
		t.stops.finishOrCancelAll()
		t.backlog.handOver()
		return true
	}
	t.observeLast(ptrace.Now())
	ctl.Close()
	return false
}

func (r *run) setTotals(c *Control, ctl *ptrace.Controller) {
	if r.lastRead == 0 { // after a panic, or before this process is stopped
		r.lastRead = ptrace.Now()
	}
	r.length = r.lastRead.Sub(c.FirstTick())
	s := ctl.Stats()
	r.brokenCalls += int64(s.Broken)
	r.repeatedCalls += int64(s.ReportedTwice)
}

func (t *Tracer) beginOnce() {
	start := ptrace.Now()
	if t.control.firstTick.CompareAndSwap(0, int64(start)) {
		t.pace.begin(start, t.opts.Freq)
		t.gaps.begin(start, time.Duration(procmem.Suspended()))
		t.requests.begin(start)
	}
}

func (t *Tracer) observeLast(now ptrace.Moment) {
	ender, _ := t.engine.(target.EngineEnder)
	if ender != nil {
		ender.BeforeLastTick(now)
	}
	t.shared.Ending = true
	for _, p := range t.tracked.processes() {
		for _, th := range p.Threads.All() {
			t.shared.Backoff.Wake(th)
		}
		p.Threads.MakeDue()
	}
	t.tick(now, now.Add(t.observations.lastTickFor()))
	t.stops.cancelAll()
	t.listings.endAll()
	if ender != nil {
		ender.End()
	}
	t.pace.chargeSamples()
	t.run.lastRead = ptrace.Now()
	t.backlog.handOverAll()
}

const heldStep = 20 * time.Millisecond // between checks during a Hold

// hold waits until Resume, the end of ctx, or an imminent stop of this process.
func (t *Tracer) hold(ctx context.Context) {
	over := func() bool { return hasEnded(ctx) || ptrace.Suspending() }
	for end := ptrace.Now().Add(selfruntime.DrainFor); t.shared.Observer.Stops.Attached() > 0 && ptrace.Now() < end &&
		!over(); {
		t.stops.finishUntil(ptrace.Now().Add(heldStep))
	}
	t.backlog.handOver()
	t.publish()
	holder, _ := t.engine.(target.EngineHolder)
	if holder != nil {
		holder.Hold()
	}
	t.control.holding.Store(true)
	defer t.control.holding.Store(false)
	for t.control.holdAsked.Load() && !over() {
		if t.shared.Observer.Stops.Attached() > 0 {
			t.stops.finishUntil(ptrace.Now().Add(heldStep))
			continue
		}
		time.Sleep(heldStep) // gives the CPU to the Go runtime
	}
	now := ptrace.Now()
	if holder != nil {
		holder.Resume(now)
	}
	t.pace.resume(now)
}
