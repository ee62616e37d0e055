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
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// tracked holds processes and threads from their discovery to the report of their end.
type tracked struct {
	shared       *engine.SharedState
	opts         *Options
	engine       engine.Engine
	counts       *counts
	stops        *stops
	opens        *procOpens
	gaps         *gaps
	newChildren  *newChildren
	endedThreads *endedThreads

	procs         []*process
	start         int64  // CLOCK_MONOTONIC ns
	startTicks    uint64 // launch of the command or start, in clock ticks after boot
	cpuOfEnded    int64  // ns
	lastProcessID sample.ProcessID
	lastThreadID  sample.ThreadID
}

// processes includes those that have ended in this tick.
func (t *tracked) processes() []*process { return t.procs }

func (t *tracked) dueThreads() (n int) {
	for _, p := range t.procs {
		n += len(p.backoff.Due)
	}
	return n
}

// # Processes

// trackProcess reports only the end of a process that has ended: the aggregator then releases it.
func (t *tracked) trackProcess(shared *handover.SharedProcess) {
	t.lastProcessID++
	shared.ID = t.lastProcessID
	p := &process{TrackedProcess: engine.TrackedProcess{Target: shared.Target, Handover: shared}}
	p.Clock.Now, _ = procmem.ProcessCPU(p.Target.PID)
	tasks := openTaskDir(shared)
	if tasks == nil {
		p.Gone = true
		t.shared.Out.Add(handover.Event{Kind: handover.ProcessEnded, Proc: shared, At: procmem.Now(), ProcessEnd: &p.account})
		return
	}
	p.execState.begin(p)
	p.otherMemory, _ = shared.TakeOtherMemory()
	tasks.ChargeTo(t.shared.Files)
	p.TaskDir = tasks
	fromStart := shared.Child && p.Target.StartTime >= t.startTicks // all its time lies within the recording
	p.list = newThreadList(fromStart)
	if fromStart {
		t.endedThreads.beginFromZero(p)
		shared.FromStart = true
		shared.Since = max(startOf(p.Target.StartTime), t.start)
	} else {
		p.Clock.First = p.Clock.Now
		shared.Since = procmem.Now()
	}
	p.backoff = backoff.NewProcessState(p.Clock.Now)
	t.procs = append(t.procs, p)
	t.shared.Out.Add(handover.Event{Kind: handover.ProcessStarted, Proc: shared})
	p.EnginePart = t.engine.Track(&p.TrackedProcess)
	t.newChildren.noteProcessTracked(p)
}

func openTaskDir(p *handover.SharedProcess) *procmem.TaskDir {
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

func (t *tracked) endProcess(p *process) {
	if p.Gone {
		return
	}
	p.Gone = true
	t.endedThreads.readAtEnd(p, t.shared.Tick.At)
	p.account.Charged, p.account.CPUBefore = p.Clock.CPUTime(), int64(p.Clock.First)
	t.cpuOfEnded += p.account.Charged
	if p.EnginePart != nil {
		p.EnginePart.Ended(&p.account)
	}
	t.newChildren.noteProcessEnded(p)
	p.TaskDir.Close()
	t.shared.Out.Add(handover.Event{
		Kind: handover.ProcessEnded, Proc: p.Handover, At: t.shared.Tick.At, ProcessEnd: &p.account,
	})
}

func (t *tracked) dropEnded() {
	t.procs = slices.DeleteFunc(t.procs, func(p *process) bool { return p.Gone })
}

func (t *tracked) allEnded() bool {
	return !slices.ContainsFunc(t.procs, func(p *process) bool { return !p.Gone })
}

func (t *tracked) readClocks(now int64) {
	for _, p := range t.procs {
		p.readClockAt(now, p.alive())
	}
}

// cpuTime returns the CPU time of all processes while tracked, ns.
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

// # Threads

// discover returns nil if the thread has ended, is not selected, or could not be read, a failed observation.
func (t *tracked) discover(p *process, tid int, now int64) *thread {
	t.stops.poll()
	if p.list.rejects(tid, now) {
		return nil
	}
	observed := t.opens.takeOrMake(p, tid)
	ptrace.Pin() // see [procOpens.takeOrMake]
	name, noUser, err := readIdentity(observed.Files())
	ptrace.Unpin()
	if err != nil {
		observed.Close()
		if why := observe.Reason(err); why != refusal.Exited {
			t.counts.noteBegin()
			t.counts.noteFailure(why)
		}
		return nil
	}
	if t.opts.Threads != nil && !t.opts.Threads.Match(name.Bytes()) {
		observed.Close()
		p.list.reject(tid, now)
		return nil
	}
	observed.NoUserSpace = noUser
	return t.track(p, observed, &name, now)
}

// readIdentity reads the name. noUser: the thread never runs in user space. The kernel escapes a backslash in stat
// (fs/proc/array.c, proc_task_name), not in comm.
func readIdentity(files *procmem.ThreadFiles) (name procmem.Comm, noUser bool, err error) {
	var st procmem.Stat
	if err := files.Stat(&st); err != nil || bytes.IndexByte(st.Comm.Bytes(), '\\') < 0 {
		return st.Comm, st.UserWorker(), err
	}
	err = files.Comm(&name)
	return name, st.UserWorker(), err
}

func (t *tracked) track(p *process, observed *observe.Thread, name *procmem.Comm, now int64) *thread {
	ptrace.Pin() // see [stops]
	defer ptrace.Unpin()
	fromZero := p.list.fromZero(observed.TID)
	t.setUpThread(p, observed)
	th := &thread{proc: p, TrackedThread: engine.TrackedThread{Observed: observed, FromZero: fromZero}}
	t.lastThreadID++
	th.Handover = &handover.SharedThread{
		ID: t.lastThreadID, Proc: p.Handover, TID: observed.TID, Feedback: observed.Feedback(), Name: name.String(),
		FirstListedAt: now,
	}
	if fromZero {
		th.Handover.CreatedAt = now
	}
	observed.Owner = th
	th.Backoff = backoff.ThreadState{Observed: observed}
	p.list.add(th)
	p.backoff.Add(&th.Backoff)
	if p.EnginePart != nil {
		th.EnginePart = p.EnginePart.TrackThread(&th.TrackedThread)
	}
	t.newChildren.noteThreadTracked(th)
	if !fromZero && t.opts.Threads != nil {
		t.endedThreads.readThreadAtStart(th, now)
	}
	return th
}

func (t *tracked) setUpThread(p *process, observed *observe.Thread) {
	observed.SetRate(t.opts.Freq)
	if observed.TID == p.Target.PID {
		observed.SetFirstCopy(p.Handover.FirstCopy())
		observed.SetFirstStackEnd(p.Handover.FirstStackEnd())
	}
	observed.OtherMemory = p.otherMemory
	observed.Memory = p.Target.Memory()
	observed.Plans = &p.Handover.Plans
}

// takeOtherMemory takes the plan of memory besides stacks, which changes after an exec or a change of mappings.
func (p *process) takeOtherMemory() {
	next, ok := p.Handover.TakeOtherMemory()
	if !ok {
		return
	}
	p.otherMemory = next
	for _, th := range p.list.all() {
		th.Observed.OtherMemory = p.otherMemory
	}
}

// endThread does nothing while a stop is pending.
func (t *tracked) endThread(th *thread) {
	if th.Backoff.Gone || th.Observed.Pending() {
		return
	}
	if th.FromZero {
		t.endedThreads.noteEnd(th.proc)
	}
	end := &th.end
	t.dropThread(th, end.Alive)
	end.NotStopped = th.Observed.TakeNotStopped()
	end.GapThreshold = t.gaps.gapThreshold()
	observedAtEnd := th.observedTick == t.shared.Tick.Number
	if !end.Alive || observedAtEnd {
		end.AtEnd = sample.Reading{}
	}
	t.shared.Out.Add(handover.Event{Kind: handover.ThreadEnded, Thread: th.Handover, UnchangedBefore: th.Backoff.Unchanged,
		ThreadEnd: end})
}

// dropThread drops a thread. alive: its clocks go on.
func (t *tracked) dropThread(th *thread, alive bool) {
	runs, cpu := th.Observed.Ran()
	t.counts.noteEnd(t.shared.Backoff.Forget(&th.Backoff), runs, cpu)
	if th.EnginePart != nil {
		th.EnginePart.Ended(alive)
	}
	th.Observed.Close()
	th.proc.list.remove(th)
}

func (t *tracked) reportUnchanged(th *thread) {
	if th.Backoff.Unchanged.Ticks > 0 {
		t.shared.Out.Add(handover.Event{
			Kind: handover.FoundUnchanged, Thread: th.Handover, UnchangedBefore: th.Backoff.TakeUnchanged(),
		})
	}
}

func (t *tracked) reportAllUnchanged() {
	for _, p := range t.procs {
		for _, th := range p.list.all() {
			if !th.Backoff.Gone {
				t.reportUnchanged(th)
			}
		}
	}
}
