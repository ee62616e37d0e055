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
	*state
	stops     *stops
	endThread func(*thread)
	clockPass int64
	tids      []int
}

const (
	// countTries bounds the passes over the clocks until no clock moves.
	countTries = 8
	// countFor bounds the time of these passes, ns.
	countFor = 5e6
	// reportEvery is the interval of reports, ns; they take at most one part in reportShare of the time.
	reportEvery = 1e9
	reportShare = 500
	// readAtOnce is the number of clocks read before stops are served.
	readAtOnce = 32
)

// endedReport schedules the reports of a process.
type endedReport struct {
	pending bool  // threads have ended since the last report
	next    int64 // earliest time of the next report, CLOCK_MONOTONIC ns
}

// cpuBounds bounds the CPU time of ended threads in one pass over the clocks, ns.
type cpuBounds struct{ least, most, clockPass int64 }

// readAtStart reads the clocks when a process is tracked: the time of all its threads begins.
func (e *endedThreads) readAtStart(p *process, now int64) {
	used, ok := e.boundEndedCPU(p, func(th *thread, s procmem.SchedStat) { th.end.AtStart = procmem.ReadingAt(s, now) })
	p.endedKnown = ok
	p.account.EndedThreads = -used.most
	for _, th := range p.list.inOrder {
		switch {
		case th.gone:
		case th.clockPass < used.clockPass:
			th.end.AtStart = sample.Reading{}
		case th.end.AtStart != (sample.Reading{}): // else it was not read, as another thread ended meanwhile
			e.Out.Add(handover.Event{Kind: handover.ThreadStarted, Thread: th.Handover, Reading: th.end.AtStart})
		}
	}
}

// readAtEnd reads the clocks at the end of a process. Precondition: the process's clock was just read.
func (e *endedThreads) readAtEnd(p *process, now int64) {
	if !p.Target.Alive() {
		p.account.EndedThreads += int64(p.Clock.Now)
		return
	}
	used, ok := e.boundEndedCPU(p, func(th *thread, s procmem.SchedStat) { th.end.AtEnd = procmem.ReadingAt(s, now) })
	if !ok {
		return // uncertain
	}
	p.account.EndedThreads += used.least
	for _, th := range p.list.inOrder {
		if !th.gone { // else the aggregator ends it
			th.end.Alive = th.clockPass >= used.clockPass
		}
	}
}

// readThreadAtStart begins the time of a thread selected by name and older than the recording.
func (e *endedThreads) readThreadAtStart(th *thread, now int64) {
	if sched, err := th.Observed.Files().SchedStat(); err == nil {
		th.end.AtStart = procmem.ReadingAt(sched, now)
		e.Out.Add(handover.Event{Kind: handover.ThreadStarted, Thread: th.Handover, Reading: th.end.AtStart})
	}
}

// readThreadsAtEnd reads the clocks of threads selected by name at the end of a process or of the recording.
func (e *endedThreads) readThreadsAtEnd(p *process, now int64) {
	if !p.Target.Alive() {
		return
	}
	for i, th := range p.list.inOrder {
		if i%readAtOnce == readAtOnce-1 {
			e.stops.poll()
		}
		if sched, err := th.Observed.Files().SchedStat(); err == nil && !th.gone {
			th.end.AtEnd, th.end.Alive = procmem.ReadingAt(sched, now), true
		}
	}
}

func (e *endedThreads) report(now int64) {
	if e.opts.Threads != nil {
		return
	}
	for _, p := range e.procs {
		report := &p.endedReport
		if !report.pending || now < report.next || p.Gone || !p.endedKnown {
			continue
		}
		report.pending = false
		began := procmem.Now()
		ended, ok := e.endedCPUSoFar(p)
		at := procmem.Now()
		report.next = at + max(reportEvery, (at-began)*reportShare)
		if ok {
			e.Out.Add(handover.Event{
				Kind: handover.EndedSoFar, Proc: p.Handover, At: at, Length: p.account.EndedThreads + ended,
			})
		}
	}
}

// endedCPUSoFar returns the least CPU time of ended threads: it reads the process's clock first.
func (e *endedThreads) endedCPUSoFar(p *process) (ns int64, ok bool) {
	all, err := procmem.ProcessCPU(p.Target.PID)
	if err != nil {
		return 0, false
	}
	tids, err := p.TaskDir.List(e.tids[:0])
	e.tids = tids
	if err != nil {
		return 0, false
	}
	e.clockPass++
	ns = int64(all)
	for i, tid := range tids {
		if i%readAtOnce == readAtOnce-1 {
			e.stops.poll()
		}
		th := p.list.byTID[tid]
		sched, err := p.schedStat(th, tid)
		switch {
		case err == nil:
			ns -= int64(sched.CPU)
			if th != nil {
				th.clockPass = e.clockPass
			}
		case observe.Reason(err) != refusal.Gone:
			return 0, false // it may be alive
		}
	}
	if !p.settled() {
		return 0, false
	}
	for _, th := range p.list.inOrder {
		if th.clockPass != e.clockPass && !th.gone {
			e.endThread(th)
			if !th.gone {
				return 0, false // a stop is pending
			}
		}
	}
	return max(ns, 0), true
}

// boundEndedCPU reads all clocks of a process until none moves meanwhile, and passes those of tracked threads to saw.
// best has the closest bounds, if ok.
func (e *endedThreads) boundEndedCPU(p *process, saw func(*thread, procmem.SchedStat)) (best cpuBounds, ok bool) {
	began := procmem.Now()
	for try := range countTries {
		if try > 0 && procmem.Now()-began > countFor {
			break
		}
		e.clockPass++
		before, err := procmem.ProcessCPU(p.Target.PID)
		if err != nil {
			break
		}
		alive, complete := e.threadsCPU(p, saw)
		after, err := procmem.ProcessCPU(p.Target.PID)
		if err != nil || !complete {
			continue
		}
		used := cpuBounds{max(int64(before)-alive, 0), max(int64(after)-alive, 0), e.clockPass}
		if !ok || used.most-used.least < best.most-best.least {
			best, ok = used, true
		}
		if before == after {
			break
		}
	}
	return best, ok
}

func (e *endedThreads) threadsCPU(p *process, saw func(*thread, procmem.SchedStat)) (sum int64, complete bool) {
	tids, err := p.TaskDir.List(e.tids[:0])
	e.tids = tids
	if err != nil {
		return 0, false
	}
	for i, tid := range tids {
		if i%readAtOnce == readAtOnce-1 {
			e.stops.poll()
		}
		th := p.list.byTID[tid]
		sched, err := p.schedStat(th, tid)
		if err != nil {
			return 0, false
		}
		sum += int64(sched.CPU)
		if th != nil {
			th.clockPass = e.clockPass
			saw(th, sched)
		}
	}
	return sum, true
}

func (p *process) schedStat(th *thread, tid int) (procmem.SchedStat, error) {
	if th != nil {
		return th.Observed.Files().SchedStat()
	}
	return procmem.OpenThread(p.Target.PID, tid, nil).SchedStat()
}
