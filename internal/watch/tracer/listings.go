// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/account/attribute"
	"prywalk/internal/account/runstats"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// listings tracks the threads that have begun, and ends those that are missing.
type listings struct {
	out          *target.Outbox
	engine       target.Engine
	results      *results
	stops        *stops
	endedThreads *endedThreads
	tracked      *tracked
	execs        *execs
	threadCount  int
	threadsMax   int
}

func (l *listings) threads() int { return l.threadCount }

func (l *listings) stats(s *runstats.Stats) { s.ThreadsMax = int64(l.threadsMax) }

func (l *listings) refreshAll(now ptrace.Moment) {
	n := 0
	for _, p := range l.tracked.processes() {
		l.refresh(p, now)
		n += p.Threads.Len()
	}
	l.threadCount = n
	l.threadsMax = max(l.threadsMax, n)
}

// refresh also looks for an exec.
func (l *listings) refresh(p *target.Process, now ptrace.Moment) {
	p.ReadClockIfDue(now, countThreads(p) > 0)
	if !p.Threads.Due(now, &p.Clock, l.threadCount) {
		l.execs.follow(p, now)
		return
	}
	tids, err := p.Threads.Read(p.TaskDir, now, p.Clock.Now)
	alive := p.Code.Alive()
	if err != nil || !alive { // a zombie still lists its first thread
		tids = nil
	}
	l.execs.follow(p, now)
	if !alive || !p.MayBeInExec(tids, now) {
		l.apply(p, tids, now)
	}
}

func (l *listings) apply(p *target.Process, tids []int, now ptrace.Moment) {
	l.markListed(p, tids, now)
	p.Threads.ForgetRejected(tids)
	if !p.Threads.KnowsStart() {
		l.endedThreads.readAtStart(p, now)
	}
	l.endMissing(p)
	l.checkName(p)
	p.UpdateOtherMemory()
}

// countThreads returns the number of a process's threads, 0 if unknown, and hints at a listing if it has changed.
func countThreads(p *target.Process) int {
	n, err := p.TaskDir.Count()
	if err != nil || n != p.Threads.Listed() {
		p.Threads.HintChange()
	}
	return n
}

func (l *listings) markListed(p *target.Process, tids []int, now ptrace.Moment) {
	for _, tid := range tids {
		if th := p.Threads.Of(tid); th != nil {
			p.Threads.Mark(th)
		} else {
			l.stops.yieldCPU()
			l.engine.DrainIfDue()
			l.tracked.discover(p, tid, now)
		}
	}
}

func (l *listings) endMissing(p *target.Process) {
	list := &p.Threads
	for _, th := range list.All() {
		if list.Lacks(th) {
			l.results.endThread(th)
		}
	}
	list.FinishListing()
	if len(list.All()) == 0 && !p.Code.Alive() {
		l.tracked.endProcess(p)
	}
}

func (l *listings) checkName(p *target.Process) {
	if th := p.FirstThread(); th != nil {
		var name procmem.Comm
		if th.Observed.Files().Comm(&name) == nil && p.Threads.SetFirstName(&name) {
			l.out.Add(target.Event{Thread: th, What: &target.Renamed{Cut: attribute.Cut{Thread: th.ID}}})
		}
	}
}

// reportEnded also ends threads that it finds missing.
func (l *listings) reportEnded(now ptrace.Moment) {
	for _, p := range l.tracked.processes() {
		if l.endedThreads.reportDue(p, now) {
			began := ptrace.Now()
			used, ok := l.endedThreads.usedSoFar(p)
			l.endedThreads.report(p, began, used, ok && l.endUnread(p))
		}
	}
}

// endUnread ends the threads whose clocks were not in the last pass. It returns false if a stop of one is pending.
func (l *listings) endUnread(p *target.Process) bool {
	for _, th := range p.Threads.All() {
		if !th.Gone && !l.endedThreads.readInLastPass(th) {
			if l.results.endThread(th); !th.Gone {
				return false
			}
		}
	}
	return true
}

func (l *listings) endAll() {
	for _, p := range l.tracked.processes() {
		l.execs.follow(p, ptrace.Now())
		l.endedThreads.readAtEnd(p, ptrace.Now())
		for _, th := range p.Threads.All() {
			l.results.endThread(th)
		}
		l.tracked.endProcess(p)
	}
	l.tracked.dropEnded()
}
