// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"slices"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// tracked holds processes and threads from their discovery to the report of their end.
type tracked struct {
	shared       *target.SharedState
	opts         *target.SamplingOptions
	engine       target.Engine
	counts       *counts
	results      *results
	stops        *stops
	endedThreads *endedThreads

	// holdsDirs means that files are opened in held directories, at real-time priority ([procmem.PathOpener]).
	holdsDirs     bool
	procs         []*target.Process
	start         ptrace.Moment
	startTicks    uint64 // launch of the command or start, in clock ticks after boot
	cpuOfEnded    time.Duration
	lastProcessID sample.ProcessID
	lastThreadID  sample.ThreadID
}

// processes includes those that have ended in this tick.
func (t *tracked) processes() []*target.Process { return t.procs }

func (t *tracked) holdDirs(hold bool) { t.holdsDirs = hold }

func (t *tracked) dueThreads() (n int) {
	for _, p := range t.procs {
		n += len(p.Backoff.Due)
	}
	return n
}

// # Processes

// trackProcess reports only the end of a process that has ended: the aggregator then releases it.
func (t *tracked) trackProcess(p *target.Process) {
	t.lastProcessID++
	p.ID = t.lastProcessID
	cpu, _ := procmem.ProcessCPU(p.Code.PID)
	p.Clock.Now = time.Duration(cpu)
	if !p.HasThreads() {
		p.Gone = true
		p.CloseTaskDir()
		t.shared.Out.Add(p.HasEnded(ptrace.Now()))
		return
	}
	p.UpdateOtherMemory()
	p.TaskDir.ChargeTo(t.shared.Files)
	fromStart := p.Child && p.Code.StartTime >= t.startTicks // all its time lies within the recording
	p.Threads = target.NewThreadList(fromStart, p.Code.Comm)
	if fromStart {
		t.endedThreads.beginFromZero(p)
		p.FromStart = true
		p.Since = max(startOf(p.Code.StartTime), t.start)
	} else {
		p.Clock.First = p.Clock.Now
		p.Since = ptrace.Now()
	}
	p.Backoff = target.NewProcessBackoff(&p.Clock)
	t.procs = append(t.procs, p)
	t.shared.Out.Add(p.Started())
	p.EnginePart = t.engine.Track(p)
}

// startOf converts clock ticks since boot to a moment.
func startOf(ticks uint64) ptrace.Moment {
	return ptrace.Now().Add(time.Duration(int64(ticks)*procmem.ClockTick - procmem.SinceBoot()))
}

func (t *tracked) endProcess(p *target.Process) {
	if p.Gone {
		return
	}
	p.Gone = true
	t.endedThreads.readAtEnd(p, t.shared.Tick.At)
	p.End.Charged, p.End.CPUBefore = int64(p.Clock.CPUTime()), int64(p.Clock.First)
	t.cpuOfEnded += time.Duration(p.End.Charged)
	if p.EnginePart != nil {
		p.EnginePart.Ended()
	}
	p.CloseTaskDir()
	t.shared.Out.Add(p.HasEnded(t.shared.Tick.At))
}

func (t *tracked) dropEnded() {
	t.procs = slices.DeleteFunc(t.procs, func(p *target.Process) bool { return p.Gone })
}

func (t *tracked) allEnded() bool {
	return !slices.ContainsFunc(t.procs, func(p *target.Process) bool { return !p.Gone })
}

func (t *tracked) readClocks(now ptrace.Moment) {
	for _, p := range t.procs {
		p.ReadClockAt(now, p.HasThreads())
	}
}

// cpuTime returns the CPU time of all processes while tracked.
func (t *tracked) cpuTime(now ptrace.Moment) time.Duration {
	ran := t.cpuOfEnded
	for _, p := range t.procs {
		if p.ClockDue(now) {
			p.ReadClockAt(now, p.HasThreads())
		}
		ran += p.Clock.CPUTime()
	}
	return ran
}

// # Threads

// discover returns nil if the thread has ended, is not selected, or could not be read, a failed observation.
func (t *tracked) discover(p *target.Process, tid int, now ptrace.Moment) *target.Thread {
	t.stops.poll()
	if p.Threads.Rejects(tid, now) {
		return nil
	}
	ptrace.Pin() // an allocation accepts preemption (runtime/runtime1.go, releasem)
	observed := observe.NewThread(p.Code.PID, tid, t.shared.Files)
	if t.holdsDirs && p.TaskDir != nil {
		observed.Files().OpenDirIn(p.TaskDir)
	}
	name, noUser, err := readIdentity(observed.Files())
	ptrace.Unpin()
	if err != nil {
		observed.Close()
		if why := observe.Reason(err); why != errs.Exited {
			t.counts.countAttempt()
			t.counts.countFailure(why)
		}
		return nil
	}
	if t.opts.Threads != nil && !t.opts.Threads.Match(name.Bytes()) {
		observed.Close()
		p.Threads.Reject(tid, now)
		return nil
	}
	observed.NoUserSpace = noUser
	return t.track(p, observed, &name, now)
}

// readIdentity reads the name. noUser means that the thread never runs in user space. The kernel escapes a backslash in
// stat (fs/proc/array.c, proc_task_name), not in comm.
func readIdentity(files *procmem.ThreadFiles) (name procmem.Comm, noUser bool, err error) {
	var st procmem.Stat
	if err := files.Stat(&st); err != nil || bytes.IndexByte(st.Comm.Bytes(), '\\') < 0 {
		return st.Comm, st.UserWorker(), err
	}
	err = files.Comm(&name)
	return name, st.UserWorker(), err
}

func (t *tracked) track(
	p *target.Process, observed *observe.Thread, name *procmem.Comm, now ptrace.Moment,
) *target.Thread {
	ptrace.Pin() // see [stops]
	defer ptrace.Unpin()
	fromZero := p.Threads.FromZero(observed.ID.TID)
	t.setUpThread(p, observed)
	t.lastThreadID++
	th := &target.Thread{
		ID: t.lastThreadID, Proc: p, TID: observed.ID.TID, Name: name.String(),
		FirstListedAt: now, Observed: observed, FromZero: fromZero,
	}
	if fromZero {
		th.CreatedAt = now
	}
	p.Threads.Add(th)
	p.Backoff.Add(th)
	if p.EnginePart != nil {
		th.EnginePart = p.EnginePart.TrackThread(th)
	}
	if !fromZero && t.opts.Threads != nil {
		t.endedThreads.readThreadAtStart(th, now)
	}
	return th
}

func (t *tracked) setUpThread(p *target.Process, observed *observe.Thread) {
	observed.SetRate(t.opts.Freq)
	if observed.ID.TID == p.Code.PID {
		observed.SetFirstCopy(p.FirstCopy())
		observed.SetFirstStackEnd(p.FirstStackEnd())
	}
	observed.OtherMemory = p.OtherMemory
	observed.Memory = p.Code.Memory()
	observed.Plans = &p.Plans
}

func (t *tracked) reportAllUnchanged() {
	for _, p := range t.procs {
		for _, th := range p.Threads.All() {
			if !th.Gone {
				t.results.reportUnchanged(th)
			}
		}
	}
}
