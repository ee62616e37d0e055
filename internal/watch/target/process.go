// SPDX-License-Identifier: Apache-2.0

package target

import (
	"slices"
	"sync/atomic"
	"time"

	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/watch/observe"
)

// Process is a process from its discovery to its last interval.
type Process struct {
	// NewProcess sets these. Child means that a sampled process has started it, and its time counts from its start. Parent
	// is the parent's process id at discovery, 0 if unknown.
	Code    *loadedcode.Process
	Child   bool
	Parent  int
	TaskDir *procmem.TaskDir // /proc/PID/task, which the tracer closes; nil means that it has ended

	// The tracer writes these before the process's first event. FromStart means that all its time lies within the
	// recording. Since is the start of its account.
	ID        sample.ProcessID
	FromStart bool
	Since     monotonic.Moment

	// The aggregator writes these, and the tracer reads them at any time, and resets otherMemory.
	Plans         observe.Plans
	otherMemory   atomic.Pointer[observe.OtherMemory] // nil means taken
	firstCopy     atomic.Int64
	firstStackEnd atomic.Uint64
	codeFreedAt   atomic.Int64 // CLOCK_MONOTONIC ns, 0 means never
	lack          atomic.Int64 // a [SampleLack]; the tracer raises it, too

	// Only the tracer and its engine use these.
	Threads     ThreadList
	Clock       Clock
	Backoff     *ProcessBackoff
	OtherMemory observe.OtherMemory // that its threads copy at present
	Gone        bool                // it has ended
	EnginePart  ProcessPart         // nil if its running threads are stopped
	EndedReport EndedReport
	Tail        ThreadListTail
	exec        execState
	End         attribute.ProcessEnd // complete when it has ended

	// Only the aggregator uses these.
	Comm       string
	Ended      bool // its account is closed
	schedulers int  // at the last SetOtherMemory
}

// EndedReport is the state of the reports of ended threads' CPU time.
type EndedReport struct {
	Known    bool // the time before the recording
	Complete bool
	Pending  bool
	Next     monotonic.Moment // earliest time of the next report
}

// ThreadListTail is the last reading of the end of a list of threads.
type ThreadListTail struct {
	ReadAt    monotonic.Moment
	Creations int64 // of tasks on this machine, until then
}

// NewProcess opens the list of threads, as the tracer looks up no path of /proc.
func NewProcess(of *loadedcode.Process, child bool, parent int) *Process {
	p := &Process{Code: of, Child: child, Parent: parent}
	p.TaskDir, _ = procmem.OpenTasks(of.PID, nil)
	p.exec.addressSpace = of.Memory().Space()
	p.ResetForProgram()
	p.MappingsChanged()
	return p
}

// CloseTaskDir closes the list of threads.
func (p *Process) CloseTaskDir() {
	if p.TaskDir != nil {
		p.TaskDir.Close()
	}
}

// EngineObserves reports whether the engine, not stops, observes its running threads.
func (p *Process) EngineObserves() bool { return p.EnginePart != nil && p.EnginePart.Observes() }

// MappingsChanged updates the first plans, and the stacks of tasks.
func (p *Process) MappingsChanged() {
	p.Plans.Store(callstack.FirstPlans(p.Code.Runtimes().FrameSources()))
	if n := len(p.Code.Runtimes().TaskOffsets()); n != p.schedulers { // one was loaded
		p.schedulers = n
		p.SetOtherMemory(observe.NewTaskStacks(p.Code))
	}
}

// ResetForProgram sets what is copied besides stacks, and the expected lack, for the present program.
func (p *Process) ResetForProgram() {
	p.schedulers = len(p.Code.Runtimes().TaskOffsets())
	tasks := observe.NewTaskStacks(p.Code)
	p.SetOtherMemory(tasks)
	p.firstStackEnd.Store(0)
	if tasks == nil { // else tasks copies the stacks of a thread
		p.firstStackEnd.Store(p.Code.FirstStackEnd())
	}
	p.lack.Store(int64(expectedLack(p.Code, tasks != nil)))
}

// SetFirstCopy sets FirstCopy.
func (p *Process) SetFirstCopy(n int64) { p.firstCopy.Store(n) }

// FirstCopy returns the bytes of the first thread's stack in its first sample; 0 means unknown.
func (p *Process) FirstCopy() int64 { return p.firstCopy.Load() }

// FirstStackEnd is the end of the first thread's stack; 0 means not copied while the thread is on another.
func (p *Process) FirstStackEnd() frames.Addr { return p.firstStackEnd.Load() }

// SetOtherMemory sets what observations copy besides stacks; nil means nothing.
func (p *Process) SetOtherMemory(other observe.OtherMemory) { p.otherMemory.Store(&other) }

// codeFreedFor is how long samples are walked at once after a freed function was found.
const codeFreedFor = time.Second

// CodeFreed records that a walk at walkedAt found a function that was freed since the sample.
func (p *Process) CodeFreed(walkedAt monotonic.Moment) { raise(&p.codeFreedAt, int64(walkedAt)) }

// WalkAtOnce reports whether samples are handed over at once: a walk found a freed function in the second before now.
func (p *Process) WalkAtOnce(now monotonic.Moment) bool {
	at := monotonic.Moment(p.codeFreedAt.Load())
	return at != 0 && now.Sub(at) < codeFreedFor
}

// UpdateOtherMemory takes the plan of memory besides stacks, which changes after an exec or a change of mappings.
func (p *Process) UpdateOtherMemory() {
	next := p.otherMemory.Swap(nil)
	if next == nil {
		return
	}
	p.OtherMemory = *next
	for _, th := range p.Threads.All() {
		th.Observed.OtherMemory = p.OtherMemory
	}
}

// Clock is a process's CPU time at its last reading.
type Clock struct {
	First     time.Duration // when sampling began
	Now       time.Duration
	ReadAt    monotonic.Moment // tick
	Valid     bool
	ChangedAt monotonic.Moment
}

// CPUTime returns the CPU time since sampling began.
func (c *Clock) CPUTime() time.Duration { return c.Now - c.First }

// To read a process's clock the kernel goes through all its threads, clockCost each, for at most 1/clockShare of the
// time of each process.
const (
	clockCost  = 120 * time.Nanosecond
	clockShare = 512
	clockEvery = 4 * time.Millisecond // between readings while no thread is backed off
)

// ClockDue reports whether the clock may be read.
func (p *Process) ClockDue(now monotonic.Moment) bool {
	return now.Sub(p.Clock.ReadAt) >= time.Duration(p.Threads.Listed())*clockCost*clockShare
}

// ReadClockIfDue reads the clock at a tick if it is needed. alive is as in ReadClock.
func (p *Process) ReadClockIfDue(now monotonic.Moment, alive bool) {
	if p.ClockDue(now) && (p.Backoff.AnyBackedOff() || now.Sub(p.Clock.ReadAt) >= clockEvery) {
		p.ReadClockAt(now, alive)
	}
}

// ReadClockAt reads the clock at a tick. alive is as in ReadClock.
func (p *Process) ReadClockAt(now monotonic.Moment, alive bool) {
	before := p.Clock.Now
	p.ReadClock(alive)
	p.Clock.ReadAt = now
	if p.Clock.Now != before {
		p.Clock.ChangedAt = now
	}
}

// ReadClock reads the process's CPU time if it is alive: else its ID may be another process's.
func (p *Process) ReadClock(alive bool) {
	c := &p.Clock
	c.Valid = alive
	if !alive {
		return
	}
	cpu, err := procmem.ProcessCPU(p.Code.PID)
	c.Valid = err == nil
	if c.Valid {
		c.Now = max(c.Now, time.Duration(cpu))
	}
}

// RequestEndedReport is for the end of a thread whose clocks counted from zero: the report of its CPU time is due.
func (p *Process) RequestEndedReport() { p.EndedReport.Pending = true }

// HasThreads reports whether the kernel lists a thread.
func (p *Process) HasThreads() bool {
	if p.TaskDir == nil {
		return false
	}
	n, err := p.TaskDir.Count()
	return err == nil && n > 0
}

// FirstThread returns the first thread, or nil if it is not tracked.
func (p *Process) FirstThread() *Thread { return p.Threads.Of(p.Code.PID) }

// SchedStat reads the clocks of thread tid; th is nil if it is not tracked.
func (p *Process) SchedStat(th *Thread, tid int) (procmem.SchedStat, error) {
	if th != nil {
		return th.Observed.Files().SchedStat()
	}
	return procmem.OpenThread(p.Code.PID, tid, nil).SchedStat()
}

// Program is the program of an untracked process. After [Program.Freeze] another goroutine may read it.
type Program struct {
	// CodeOwner is the tracked process whose code it runs since the fork; nil means that it has called exec.
	CodeOwner *Process
	Name      string
	Maps      []loadedcode.MapsLine // of code

	frozen bool
}

// Freeze makes the program immutable; changes make a copy.
func (p *Program) Freeze() { p.frozen = true }

// Unshared returns the program, or a copy if it is frozen.
func (p *Program) Unshared() *Program {
	if !p.frozen {
		return p
	}
	return &Program{CodeOwner: p.CodeOwner, Name: p.Name, Maps: slices.Clone(p.Maps)}
}
