// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"slices"

	"prywalk/internal/backoff"
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// tracked holds processes and threads from their discovery to the report of their end.
type tracked struct {
	*state
	engine      engine.Engine
	stops       *stops
	walks       *pathWalks
	newChildren *newChildren
	execs       *execs
	ended       *endedThreads

	start       int64  // start of sampling, CLOCK_MONOTONIC ns
	startTicks  uint64 // the same in clock ticks after boot
	cpuOfEnded  int64  // CPU time of ended processes, ns
	threadCount int    // number of threads at the last tick
	threadsMax  int    // most of them
	lastProcess sample.ProcessID
	lastThread  sample.ThreadID
}

// trackProcess reports the end of an ended process, so that the aggregator releases it.
func (t *tracked) trackProcess(shared *handover.Process) {
	t.lastProcess++
	shared.ID = t.lastProcess
	p := &process{Process: engine.Process{Target: shared.Target, Handover: shared}}
	p.Clock.Now, _ = procmem.ProcessCPU(p.Target.PID)
	tasks := openTaskDir(shared)
	if tasks == nil {
		p.Gone = true
		t.Out.Add(handover.Event{Kind: handover.ProcessEnded, Proc: shared, At: procmem.Now(), ProcessEnd: &p.account})
		return
	}
	p.addressSpace = p.Target.Memory().Space()
	p.otherMemory, _ = shared.TakeOtherMemory()
	tasks.ChargeTo(t.Files)
	p.TaskDir = tasks
	p.list.byTID = map[int]*thread{}
	if shared.Child && p.Target.StartTime >= t.startTicks {
		// All its time lies within the recording.
		p.list.everListed = true
		p.endedKnown = true
		shared.FromStart = true
		shared.Since = max(startOf(p.Target.StartTime), t.start)
	} else {
		p.Clock.First = p.Clock.Now
		shared.Since = procmem.Now()
	}
	p.backoff = backoff.NewProcess(p.Clock.Now)
	t.procs = append(t.procs, p)
	t.Out.Add(handover.Event{Kind: handover.ProcessBegan, Proc: shared})
	p.EnginePart = t.engine.Track(&p.Process)
	t.newChildren.processTracked(p)
}

func openTaskDir(p *handover.Process) *procmem.TaskDir {
	tasks := p.TakeTaskDir()
	if tasks == nil {
		return nil
	}
	if n, err := tasks.Count(); err != nil || n == 0 {
		tasks.Close()
		return nil
	}
	return tasks
}

// refreshThreads lists a process's threads if that is due: it tracks those that have begun and ends those that are
// missing. At each call it also looks for an exec.
func (t *tracked) refreshThreads(p *process, now int64) {
	list := &p.list
	p.noteCount(now)
	if list.everListed && t.walks.busy() {
		return
	}
	if !list.due(now, &p.Clock, t.threadCount) {
		t.execs.detectExec(p, now)
		return
	}
	list.listedAt = now
	list.cpu = p.Clock.Now
	list.changeHinted = false
	list.generation++
	tids, err := p.TaskDir.List(list.tids[:0])
	list.tids = tids
	if err != nil || !p.Target.Alive() { // a zombie still lists its first thread
		tids = nil
	}
	t.execs.detectExec(p, now)
	if p.mayBeInExec(tids) {
		return
	}
	t.markListed(p, tids, now)
	list.forgetRejected(tids)
	if !list.everListed {
		list.everListed = true
		if t.opts.Threads == nil { // else the time of rejected threads is not attributed
			t.ended.readAtStart(p, now)
		}
	}
	t.endMissing(p)
	t.checkName(p)
	p.takeOtherMemory()
}

// noteCount hints at a listing if the number of threads has changed, and reads the process's clock if that is due.
func (p *process) noteCount(now int64) {
	there, err := p.TaskDir.Count()
	p.list.changeHinted = p.list.changeHinted || p.ThreadsChanged || err != nil || there != len(p.list.tids)
	p.ThreadsChanged = false
	if p.clockDue(now) && (p.backoff.AnyBackedOff() || now-p.Clock.ReadAt >= clockEvery) {
		p.readClockAt(now, err == nil && there > 0)
	}
}

// markListed notes which tracked threads are in a listing, and tracks those that are new.
func (t *tracked) markListed(p *process, tids []int, now int64) {
	open := t.walks.openUntracked(p, tids, now, !p.list.everListed)
	for _, tid := range tids {
		th := p.list.byTID[tid]
		if th == nil && open {
			t.engine.DrainIfDue()
			th = t.discover(p, tid, now)
		}
		if th != nil {
			th.listGeneration = p.list.generation
		}
	}
}

// checkName reports a changed name of the first thread, which is the process's.
func (t *tracked) checkName(p *process) {
	if th := p.list.byTID[p.Target.PID]; th != nil {
		var name procmem.Comm
		if th.Observed.Files().Comm(&name) == nil && !bytes.Equal(name.Bytes(), p.list.firstThreadName.Bytes()) {
			if len(p.list.firstThreadName.Bytes()) > 0 {
				t.Out.Add(handover.Event{Kind: handover.Renamed, Thread: th.Handover, Proc: p.Handover, At: t.Tick.At})
			}
			p.list.firstThreadName = name
		}
	}
}

// takeOtherMemory sets what stops copy besides stacks, after an exec or a change of the mappings.
func (p *process) takeOtherMemory() {
	next, ok := p.Handover.TakeOtherMemory()
	if !ok {
		return
	}
	p.otherMemory = next
	for _, th := range p.list.inOrder {
		th.Observed.OtherMemory = p.otherMemory
	}
}

// discover returns nil if the thread has ended, or is not selected.
func (t *tracked) discover(p *process, tid int, now int64) *thread {
	t.stops.poll()
	if now < p.list.rejected[tid].again {
		return nil
	}
	observed := t.walks.takeOpened(p, tid)
	ptrace.Pin() // a return from a system call accepts preemption
	name, noUser, err := nameOf(observed.Files())
	ptrace.Unpin()
	if err != nil {
		observed.Close()
		return nil
	}
	if t.opts.Threads != nil && !t.opts.Threads.Match(name.Bytes()) {
		observed.Close()
		p.list.reject(tid, now)
		return nil
	}
	th := t.track(p, observed, &name, now)
	th.NoUser = noUser
	return th
}

func (t *tracked) track(p *process, observed *observe.Thread, name *procmem.Comm, now int64) *thread {
	ptrace.Pin() // a thread may stop late meanwhile
	defer ptrace.Unpin()
	tid := observed.TID
	fromZero := p.list.everListed && !p.list.rejected[tid].old
	delete(p.list.rejected, tid)
	t.Skipper.NoteThreadChange(now)
	th := &thread{proc: p, Thread: engine.Thread{Observed: observed, FromZero: fromZero}}
	t.lastThread++
	th.Handover = &handover.Thread{
		ID: t.lastThread, Proc: p.Handover, TID: tid, Feedback: observed.Feedback(), Name: name.String(), Found: now,
	}
	th.Backoff = backoff.Thread{Owner: th, Observed: observed}
	observed.SetRate(t.opts.Freq)
	if tid == p.Target.PID {
		observed.SetFirstCopy(p.Handover.FirstCopy())
		observed.SetFirstStackEnd(p.Handover.FirstStackEnd())
	}
	observed.OtherMemory = p.otherMemory
	observed.Memory = p.Target.Memory()
	observed.Plans = &p.Handover.Plans
	if th.FromZero {
		th.Handover.CreatedAt = now
	}
	p.list.byTID[tid] = th
	p.list.inOrder = append(p.list.inOrder, th)
	p.backoff.Add(&th.Backoff)
	if p.EnginePart != nil {
		th.EnginePart = p.EnginePart.TrackThread(&th.Thread)
	}
	t.newChildren.threadTracked(th)
	if !fromZero && t.opts.Threads != nil {
		t.ended.readThreadAtStart(th, now)
	}
	return th
}

// nameOf returns a thread's name, and whether it never runs in user space. The kernel escapes a backslash in stat
// (fs/proc/array.c, proc_task_name), not in comm.
func nameOf(files *procmem.ThreadFiles) (name procmem.Comm, noUser bool, err error) {
	var st procmem.Stat
	if err := files.Stat(&st); err != nil || bytes.IndexByte(st.Comm.Bytes(), '\\') < 0 {
		return st.Comm, st.UserWorker(), err
	}
	err = files.Comm(&name)
	return name, st.UserWorker(), err
}

func (t *tracked) endThread(th *thread) {
	if th.gone || th.Observed.Pending() {
		return
	}
	th.proc.endedReport.pending = th.proc.endedReport.pending || th.FromZero
	end := &th.end
	t.dropThread(th, end.Alive)
	end.NotStopped = th.Observed.TakeNotStopped()
	end.Patience = t.gaps.MaxGap()
	if !end.Alive || th.observedTick == t.Tick.Number { // its last observation is of the recording's end
		end.AtEnd = sample.Reading{}
	}
	t.Out.Add(handover.Event{Kind: handover.ThreadEnded, Thread: th.Handover, UnchangedBefore: th.Backoff.Unchanged,
		ThreadEnd: end})
}

// dropThread ends the tracking of a thread. alive: its clocks go on.
func (t *tracked) dropThread(th *thread, alive bool) {
	th.gone = true
	t.Skipper.NoteThreadChange(t.Tick.At)
	t.counts.ranInBackoff += t.Backoff.Forget(&th.Backoff)
	t.counts.shortRuns.add(th.Observed.Ran())
	if th.EnginePart != nil {
		th.EnginePart.Ended(alive)
	}
	th.Observed.Close()
	delete(th.proc.list.byTID, th.Observed.TID)
	th.proc.list.changeHinted = true
}

func (t *tracked) endMissing(p *process) {
	list := &p.list
	for _, th := range list.inOrder {
		if th.listGeneration != list.generation {
			t.endThread(th)
		}
	}
	list.inOrder = slices.DeleteFunc(list.inOrder, func(th *thread) bool { return th.gone })
	if len(list.inOrder) == 0 && !p.Target.Alive() {
		t.endProcess(p)
	}
}

func (t *tracked) endProcess(p *process) {
	if p.Gone {
		return
	}
	p.Gone = true
	t.readLastClocks(p, t.Tick.At)
	p.account.Charged, p.account.CPUBefore = p.Clock.CPUTime(), int64(p.Clock.First)
	t.cpuOfEnded += p.account.Charged
	if p.EnginePart != nil {
		p.EnginePart.Ended(&p.account)
	}
	t.newChildren.processEnded(p)
	p.TaskDir.Close()
	t.Out.Add(handover.Event{Kind: handover.ProcessEnded, Proc: p.Handover, At: t.Tick.At, ProcessEnd: &p.account})
}

func (t *tracked) readLastClocks(p *process, now int64) {
	if p.accountComplete {
		return
	}
	p.accountComplete = true
	p.readClock(p.alive())
	switch {
	case t.opts.Threads != nil:
		t.ended.readThreadsAtEnd(p, now)
	case p.endedKnown:
		t.ended.readAtEnd(p, now)
	}
}

func (t *tracked) endAll() {
	for _, p := range t.procs {
		t.execs.detectExec(p, procmem.Now())
		t.readLastClocks(p, procmem.Now())
		for _, th := range p.list.inOrder {
			t.endThread(th)
		}
		t.endProcess(p)
	}
	t.procs = nil
}

func (t *tracked) refreshAll(now int64) {
	n := 0
	for _, p := range t.procs {
		t.refreshThreads(p, now)
		n += len(p.list.byTID)
	}
	t.threadCount = n
	t.threadsMax = max(t.threadsMax, n)
}

func (t *tracked) dropEnded() {
	t.procs = slices.DeleteFunc(t.procs, func(p *process) bool { return p.Gone })
}

func (t *tracked) cpuTime(now int64) int64 {
	ran := t.cpuOfEnded
	for _, p := range t.procs {
		if p.clockDue(now) {
			p.readClockAt(now, p.alive())
		}
		ran += p.Clock.CPUTime()
	}
	return ran
}
