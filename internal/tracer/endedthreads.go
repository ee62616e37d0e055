// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/handover"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
)

// endedThreads finds the CPU time of ended threads. A process's clock includes it, and adds what threads' schedstat
// shows (kernel/sched/cputime.c, thread_group_cputime: se.sum_exec_runtime). So
//
//	used by ended threads = process's clock − sum of its threads' clocks
//
// if none moves meanwhile. Readings of the process's clock before and after the threads' bound it.
type endedThreads struct {
	out       *handover.Outbox
	opts      *Options
	stops     *stops
	clockPass int64
	tids      []int
}

const (
	// bounds of the passes until no clock moves; countFor is in ns
	countTries = 8
	countFor   = 5e6
	// ns between reports of a process; its reports take at most 1/reportShare of the time
	reportEvery = 1e9
	reportShare = 500
	readAtOnce  = 32 // clocks read between two checks for stops
)

type endedReport struct {
	known    bool
	complete bool
	pending  bool
	next     int64 // earliest time of the next report, CLOCK_MONOTONIC ns
}

// cpuBounds bounds the CPU time of ended threads, ns, by the readings of one pass.
type cpuBounds struct{ least, most, clockPass int64 }

func (e *endedThreads) beginFromZero(p *process) { p.endedReport.known = true }

// readAtStart reads the clocks from which the time of the first listing's threads counts.
func (e *endedThreads) readAtStart(p *process, now int64) {
	if e.opts.Threads != nil {
		return // the time of rejected threads is not attributed
	}
	used, ok := e.boundEndedCPU(p, func(th *thread, s procmem.SchedStat) { th.end.AtStart = procmem.ReadingAt(s, now) })
	p.endedReport.known = ok
	p.account.EndedThreads = -used.most
	for _, th := range p.list.all() {
		switch {
		case th.gone:
		case th.clockPass < used.clockPass:
			th.end.AtStart = sample.Reading{}
		case th.end.AtStart != (sample.Reading{}): // else not read: another thread ended meanwhile
			e.out.Add(handover.Event{Kind: handover.ThreadStarted, Thread: th.Handover, Reading: th.end.AtStart})
		}
	}
}

func (e *endedThreads) readAtEnd(p *process, now int64) {
	if p.endedReport.complete {
		return
	}
	p.endedReport.complete = true
	p.readClock(p.alive())
	switch {
	case e.opts.Threads != nil:
		e.readThreadsAtEnd(p, now)
	case p.endedReport.known:
		e.completeAccount(p, now)
	}
}

// Precondition: the process's clock was just read.
func (e *endedThreads) completeAccount(p *process, now int64) {
	if !p.Target.Alive() {
		p.account.EndedThreads += int64(p.Clock.Now)
		return
	}
	used, ok := e.boundEndedCPU(p, func(th *thread, s procmem.SchedStat) { th.end.AtEnd = procmem.ReadingAt(s, now) })
	if !ok {
		return // uncertain
	}
	p.account.EndedThreads += used.least
	for _, th := range p.list.all() {
		if !th.gone { // the aggregator ends a gone one
			th.end.Alive = th.clockPass >= used.clockPass
		}
	}
}

// Precondition: the thread was selected by name, and is older than the recording.
func (e *endedThreads) readThreadAtStart(th *thread, now int64) {
	if sched, err := th.Observed.Files().SchedStat(); err == nil {
		th.end.AtStart = procmem.ReadingAt(sched, now)
		e.out.Add(handover.Event{Kind: handover.ThreadStarted, Thread: th.Handover, Reading: th.end.AtStart})
	}
}

func (e *endedThreads) readThreadsAtEnd(p *process, now int64) {
	if !p.Target.Alive() {
		return
	}
	for i, th := range p.list.all() {
		if i%readAtOnce == readAtOnce-1 {
			e.stops.poll()
		}
		if sched, err := th.Observed.Files().SchedStat(); err == nil && !th.gone {
			th.end.AtEnd, th.end.Alive = procmem.ReadingAt(sched, now), true
		}
	}
}

func (e *endedThreads) noteEnd(p *process) { p.endedReport.pending = true }

func (e *endedThreads) reportDue(p *process, now int64) bool {
	r := &p.endedReport
	return e.opts.Threads == nil && r.pending && now >= r.next && !p.Gone && r.known
}

// usedSoFar returns the least CPU time of ended threads, ns. Threads of which it reads no clock
// ([endedThreads.readInLastPass]) have ended.
func (e *endedThreads) usedSoFar(p *process) (ns int64, ok bool) {
	p.endedReport.pending = false
	whole, err := procmem.ProcessCPU(p.Target.PID)
	if err != nil {
		return 0, false
	}
	threads, complete := e.threadsCPU(p, true, nil)
	return max(int64(whole)-threads, 0), complete && p.isSettled()
}

func (e *endedThreads) readInLastPass(th *thread) bool { return th.clockPass == e.clockPass }

// report reports used, the result of usedSoFar, which was called at began, CLOCK_MONOTONIC ns.
func (e *endedThreads) report(p *process, began, used int64, ok bool) {
	at := procmem.Now()
	p.endedReport.next = at + max(reportEvery, (at-began)*reportShare)
	if ok {
		e.out.Add(handover.Event{
			Kind: handover.EndedSoFar, Proc: p.Handover, At: at, CPU: p.account.EndedThreads + used,
		})
	}
}

// boundEndedCPU returns the closest bounds of several passes.
func (e *endedThreads) boundEndedCPU(p *process, note func(*thread, procmem.SchedStat)) (best cpuBounds, ok bool) {
	began := procmem.Now()
	for try := range countTries {
		if try > 0 && procmem.Now()-began > countFor {
			break
		}
		before, err := procmem.ProcessCPU(p.Target.PID)
		if err != nil {
			break
		}
		threads, complete := e.threadsCPU(p, false, note)
		after, err := procmem.ProcessCPU(p.Target.PID)
		if err != nil || !complete {
			continue
		}
		used := cpuBounds{max(int64(before)-threads, 0), max(int64(after)-threads, 0), e.clockPass}
		if !ok || used.most-used.least < best.most-best.least {
			best, ok = used, true
		}
		if before == after {
			break
		}
	}
	return best, ok
}

// threadsCPU returns the sum of the threads' clocks, ns. complete: no thread has ended meanwhile, unless mayEnd. note
// may be nil.
func (e *endedThreads) threadsCPU(
	p *process, mayEnd bool, note func(*thread, procmem.SchedStat),
) (sum int64, complete bool) {
	e.clockPass++
	tids, err := p.TaskDir.List(e.tids[:0])
	e.tids = tids
	if err != nil {
		return 0, false
	}
	for i, tid := range tids {
		if i%readAtOnce == readAtOnce-1 {
			e.stops.poll()
		}
		th := p.list.thread(tid)
		sched, err := p.schedStat(th, tid)
		if err != nil {
			if mayEnd && observe.Reason(err) == refusal.Exited {
				continue
			}
			return 0, false
		}
		sum += int64(sched.CPU)
		if th != nil {
			th.clockPass = e.clockPass
			if note != nil {
				note(th, sched)
			}
		}
	}
	return sum, true
}
