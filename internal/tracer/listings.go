// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/procmem"
	"prywalk/internal/runstats"
)

// listings tracks the threads that have begun, and ends those that are missing.
type listings struct {
	out          *handover.Outbox
	tick         *engine.Tick
	engine       engine.Engine
	opens        *procOpens
	endedThreads *endedThreads
	tracked      *tracked
	execs        *execs
	threadCount  int
	threadsMax   int
}

func (l *listings) threads() int { return l.threadCount }

func (l *listings) stats(s *runstats.Stats) { s.ThreadsMax = int64(l.threadsMax) }

func (l *listings) refreshAll(now int64) {
	n := 0
	for _, p := range l.tracked.processes() {
		l.refresh(p, now)
		n += p.list.len()
	}
	l.threadCount = n
	l.threadsMax = max(l.threadsMax, n)
}

// refresh also looks for an exec.
func (l *listings) refresh(p *process, now int64) {
	p.readClockIfDue(now, p.countThreads() > 0)
	if p.list.knowsStart() && l.opens.busy() {
		return
	}
	if !p.list.due(now, &p.Clock, l.threadCount) && !l.opens.hasOpened(p) {
		l.execs.detect(p, now)
		return
	}
	tids, err := p.list.read(p.TaskDir, now, p.Clock.Now)
	alive := p.Target.Alive()
	if err != nil || !alive { // a zombie still lists its first thread
		tids = nil
	}
	l.execs.detect(p, now)
	if !alive || !p.mayBeInExec(tids, now) {
		l.apply(p, tids, now)
	}
}

func (l *listings) apply(p *process, tids []int, now int64) {
	l.markListed(p, tids, now)
	p.list.forgetRejected(tids)
	if !p.list.knowsStart() {
		l.endedThreads.readAtStart(p, now)
	}
	l.endMissing(p)
	l.checkName(p)
	p.takeOtherMemory()
}

// ns between clock readings while no thread is backed off
const clockEvery = 4e6

// countThreads hints at a listing if the number has changed, or the engine has noted a change since the last call. 0:
// unknown.
func (p *process) countThreads() int {
	n, err := p.TaskDir.Count()
	if p.ThreadsChanged || err != nil || n != p.list.listed() {
		p.list.hintChange()
	}
	p.ThreadsChanged = false
	if err != nil {
		return 0
	}
	return n
}

func (p *process) readClockIfDue(now int64, alive bool) {
	if p.clockDue(now) && (p.backoff.AnyBackedOff() || now-p.Clock.ReadAt >= clockEvery) {
		p.readClockAt(now, alive)
	}
}

func (l *listings) markListed(p *process, tids []int, now int64) {
	open := l.opens.openUntracked(p, tids, now, !p.list.knowsStart())
	for _, tid := range tids {
		if th := p.list.thread(tid); th != nil {
			p.list.mark(th)
		} else if open {
			l.engine.DrainIfDue()
			l.tracked.discover(p, tid, now)
		}
	}
	if open {
		l.opens.dropOpened()
	}
}

func (l *listings) endMissing(p *process) {
	list := &p.list
	for _, th := range list.all() {
		if list.lacks(th) {
			l.tracked.endThread(th)
		}
	}
	list.finishListing()
	if len(list.all()) == 0 && !p.Target.Alive() {
		l.tracked.endProcess(p)
	}
}

func (l *listings) checkName(p *process) {
	if th := p.firstThread(); th != nil {
		var name procmem.Comm
		if th.Observed.Files().Comm(&name) == nil && p.list.setFirstName(&name) {
			l.out.Add(handover.Event{Kind: handover.Renamed, Thread: th.Handover, Proc: p.Handover, At: l.tick.At})
		}
	}
}

// reportEnded also ends threads that it finds missing.
func (l *listings) reportEnded(now int64) {
	for _, p := range l.tracked.processes() {
		if l.endedThreads.reportDue(p, now) {
			began := procmem.Now()
			used, ok := l.endedThreads.usedSoFar(p)
			l.endedThreads.report(p, began, used, ok && l.endUnread(p))
		}
	}
}

// endUnread ends the threads whose clocks were not in the last pass. It returns false if a stop of one is pending.
func (l *listings) endUnread(p *process) bool {
	for _, th := range p.list.all() {
		if !th.Backoff.Gone && !l.endedThreads.readInLastPass(th) {
			if l.tracked.endThread(th); !th.Backoff.Gone {
				return false
			}
		}
	}
	return true
}

func (l *listings) endAll() {
	for _, p := range l.tracked.processes() {
		l.execs.detect(p, procmem.Now())
		l.endedThreads.readAtEnd(p, procmem.Now())
		for _, th := range p.list.all() {
			l.tracked.endThread(th)
		}
		l.tracked.endProcess(p)
	}
	l.tracked.dropEnded()
}
