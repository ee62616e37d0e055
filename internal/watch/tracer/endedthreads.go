// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/errs"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// endedThreads finds the CPU time of ended threads. A process's clock includes it, and adds what threads' schedstat
// shows (kernel/sched/cputime.c, thread_group_cputime: se.sum_exec_runtime). So
//
//	used by ended threads = process's clock − sum of its threads' clocks
//
// if none moves meanwhile. Readings of the process's clock before and after the threads' bound it.
type endedThreads struct {
	out   *target.Outbox
	opts  *target.SamplingOptions
	stops *stops
	pass  int64 // number of the last one
	tids  []int
}

const (
	// These bound the passes until no clock moves.
	countTries = 8
	countFor   = 5 * time.Millisecond
	// reportEvery is the time between reports of a process, which take at most 1/reportShare of the time.
	reportEvery = time.Second
	reportShare = 500
	readAtOnce  = 32 // clocks read between two checks for stops
)

// cpuBounds bounds the CPU time of ended threads, by the readings of one pass.
type cpuBounds struct {
	least, most time.Duration
	pass        int64
}

func (e *endedThreads) beginFromZero(p *target.Process) { p.EndedReport.Known = true }

// readAtStart reads the clocks from which the time of the first listing's threads counts.
func (e *endedThreads) readAtStart(p *target.Process, now ptrace.Moment) {
	if e.opts.Threads != nil {
		return // the time of rejected threads is not attributed
	}
	used, ok := e.boundEndedCPU(p)
	p.EndedReport.Known = ok
	p.End.EndedThreads = int64(-used.most)
	for _, th := range p.Threads.All() {
		if !th.Gone && th.LastPass.IsSince(used.pass) {
			th.End.AtStart = procmem.ReadingAt(th.LastPass.Clocks, int64(now))
			e.out.Add(th.Started(th.End.AtStart))
		}
	}
}

func (e *endedThreads) readAtEnd(p *target.Process, now ptrace.Moment) {
	if p.EndedReport.Complete {
		return
	}
	p.EndedReport.Complete = true
	p.ReadClock(p.HasThreads())
	switch {
	case e.opts.Threads != nil:
		e.readThreadsAtEnd(p, now)
	case p.EndedReport.Known:
		e.completeAccount(p, now)
	}
}

// Precondition: the process's clock was just read.
func (e *endedThreads) completeAccount(p *target.Process, now ptrace.Moment) {
	if !p.Code.Alive() {
		p.End.EndedThreads += int64(p.Clock.Now)
		return
	}
	used, ok := e.boundEndedCPU(p)
	if !ok {
		return // uncertain
	}
	p.End.EndedThreads += int64(used.least)
	for _, th := range p.Threads.All() {
		if !th.Gone && th.LastPass.IsSince(used.pass) { // the aggregator ends a gone one
			th.End.AtEnd, th.End.Alive = procmem.ReadingAt(th.LastPass.Clocks, int64(now)), true
		}
	}
}

// Precondition: the thread was selected by name, and is older than the recording.
func (e *endedThreads) readThreadAtStart(th *target.Thread, now ptrace.Moment) {
	if sched, err := th.Observed.Files().SchedStat(); err == nil {
		th.End.AtStart = procmem.ReadingAt(sched, int64(now))
		e.out.Add(th.Started(th.End.AtStart))
	}
}

func (e *endedThreads) readThreadsAtEnd(p *target.Process, now ptrace.Moment) {
	if !p.Code.Alive() {
		return
	}
	for i, th := range p.Threads.All() {
		if i%readAtOnce == readAtOnce-1 {
			e.stops.poll()
		}
		if sched, err := th.Observed.Files().SchedStat(); err == nil && !th.Gone {
			th.End.AtEnd, th.End.Alive = procmem.ReadingAt(sched, int64(now)), true
		}
	}
}

func (e *endedThreads) reportDue(p *target.Process, now ptrace.Moment) bool {
	r := &p.EndedReport
	return e.opts.Threads == nil && r.Pending && now >= r.Next && !p.Gone && r.Known
}

// usedSoFar returns the least CPU time of ended threads. Threads of which it reads no clock
// ([endedThreads.readInLastPass]) have ended. Only a later end ([target.Process.RequestEndedReport]) makes another
// report due.
func (e *endedThreads) usedSoFar(p *target.Process) (ns time.Duration, ok bool) {
	p.EndedReport.Pending = false
	whole, err := procmem.ProcessCPU(p.Code.PID)
	if err != nil {
		return 0, false
	}
	threads, complete := e.threadsCPU(p, true)
	return max(time.Duration(whole)-threads, 0), complete && p.IsSettled()
}

func (e *endedThreads) readInLastPass(th *target.Thread) bool { return th.LastPass.Number == e.pass }

// report reports used, the result of usedSoFar, which was called at began.
func (e *endedThreads) report(p *target.Process, began ptrace.Moment, used time.Duration, ok bool) {
	at := ptrace.Now()
	p.EndedReport.Next = at.Add(max(reportEvery, at.Sub(began)*reportShare))
	if ok {
		cpu := p.End.EndedThreads + int64(used)
		e.out.Add(target.Event{What: &attribute.EndedSoFar{Process: p.ID, CPU: cpu, At: int64(at)}})
	}
}

// boundEndedCPU returns the closest bounds of several passes, or, with ok false, only the number of the first pass.
func (e *endedThreads) boundEndedCPU(p *target.Process) (best cpuBounds, ok bool) {
	best.pass = e.pass + 1
	began := ptrace.Now()
	for try := range countTries {
		if try > 0 && ptrace.Now().Sub(began) > countFor {
			break
		}
		before, err := procmem.ProcessCPU(p.Code.PID)
		if err != nil {
			break
		}
		threads, complete := e.threadsCPU(p, false)
		after, err := procmem.ProcessCPU(p.Code.PID)
		if err != nil || !complete {
			continue
		}
		used := cpuBounds{max(time.Duration(before)-threads, 0), max(time.Duration(after)-threads, 0), e.pass}
		if !ok || used.most-used.least < best.most-best.least {
			best, ok = used, true
		}
		if before == after {
			break
		}
	}
	return best, ok
}

// threadsCPU makes a pass, and returns the sum of the threads' clocks. complete means that no thread has ended
// meanwhile, unless mayEnd.
func (e *endedThreads) threadsCPU(p *target.Process, mayEnd bool) (sum time.Duration, complete bool) {
	e.pass++
	tids, err := p.TaskDir.List(e.tids[:0])
	e.tids = tids
	if err != nil {
		return 0, false
	}
	for i, tid := range tids {
		if i%readAtOnce == readAtOnce-1 {
			e.stops.poll()
		}
		th := p.Threads.Of(tid)
		sched, err := p.SchedStat(th, tid)
		if err != nil {
			if mayEnd && observe.Reason(err) == errs.Exited {
				continue
			}
			return 0, false
		}
		sum += time.Duration(sched.CPU)
		if th != nil {
			th.LastPass = target.PassReading{Number: e.pass, Clocks: sched}
		}
	}
	return sum, true
}
