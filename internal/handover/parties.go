// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"sync/atomic"

	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/descendants"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// Process says which process an event is about, and has what comes back about it.
type Process struct {
	ID     sample.ProcessID // the tracer's to write, before the first event
	Target *code.Process
	// Child: one that is sampled has started it, so that it counts from its start. Parent is whose it was when it was
	// found, 0 if that is not known.
	Child  bool
	Parent int

	// FromStart: all its time lies within the recording. Since is from when on it counts, CLOCK_MONOTONIC ns. Both are
	// the tracer's to write, before the first event.
	FromStart bool
	Since     int64

	// Plans are what the tracer copies of threads that were not walked yet.
	Plans look.Plans
	extra atomic.Pointer[ptrace.Extra]
	lack  atomic.Uint32
	tasks *procmem.TaskDir
	depth atomic.Int64 // see [Process.UsedStack]
	first atomic.Int64 // see [Process.CopyFirst]
	moved atomic.Int64 // when its code has last come or gone, CLOCK_MONOTONIC ns; 0: it was not seen to

	// Comm is its name, and Ended that its account is closed. Both are the accountant's.
	Comm  string
	Ended bool
}

// NewProcess begins with a process. What is copied of it is known, and what samples will lack of it. The list of its
// threads is open: the tracer walks no path of /proc.
func NewProcess(t *code.Process, child bool, parent int) *Process {
	p := &Process{Target: t, Child: child, Parent: parent}
	p.tasks, _ = procmem.OpenTasks(t.PID, nil) // it has ended, else
	p.NewMappings()
	p.NewProgram()
	return p
}

// TakeTasks gives the list of its threads, once; nil if it has ended. Its caller closes it.
func (p *Process) TakeTasks() *procmem.TaskDir {
	d := p.tasks
	p.tasks = nil
	return d
}

// NewMappings finds anew what is copied first of a thread, as the process's mappings are others.
func (p *Process) NewMappings() { p.Plans.Store(callstack.FirstPlan(p.Target.Namers())) }

// NewProgram finds anew what is copied besides stacks, and what samples will lack, as the process runs another program.
// It forgets what was found of the one before.
func (p *Process) NewProgram() {
	extra := look.TaskStacks(p.Target)
	p.CopyAlso(extra)
	p.foreseeLack(extra != nil)
}

// CopyFirst says how many bytes the first look at the process's first thread copies of its stack, as learned of another
// process that ran the same file; 0: nothing was learned.
func (p *Process) CopyFirst(n int64) { p.first.Store(n) }

// FirstCopy gives what CopyFirst was called with last.
func (p *Process) FirstCopy() int64 { return p.first.Load() }

// CopyAlso says what is to be copied besides stacks from now on; nil for nothing.
func (p *Process) CopyAlso(extra ptrace.Extra) { p.extra.Store(&extra) }

// TakeExtra gives what is to be copied besides stacks from now on; false if that is as it was.
func (p *Process) TakeExtra() (ptrace.Extra, bool) {
	next := p.extra.Swap(nil)
	if next == nil {
		return nil, false
	}
	return *next, true
}

// movingFor is for how long, in nanoseconds, a process counts as one whose code comes and goes.
const movingFor = 1e9

// CodeMoves notes that code has come or gone that the process has made at run time, by a look at that moment.
func (p *Process) CodeMoves(at int64) { p.moved.Store(at) }

// Moving reports whether code has come or gone lately. What is known of it does not hold for long, so looks are handed
// over at once.
func (p *Process) Moving(at int64) bool {
	moved := p.moved.Load()
	return moved != 0 && at-moved < movingFor
}

// Thread says which thread an event is about. The tracer writes it, before the first event.
type Thread struct {
	ID     sample.TaskID // 0 for what stands for several threads
	Proc   *Process
	TID    int
	Walks  *look.Walks
	Name   string
	Met    int64 // when it was first listed, CLOCK_MONOTONIC ns
	BornAt int64 // 0: before the recording

	// Named: the accountant has its name from a run-time system, so that nothing of a new thread is read soon.
	Named atomic.Bool
}

// NameEvery is how old a thread's name may get, in nanoseconds: programs name their threads after they started them.
const NameEvery = 1e9

// Program is what a process ran that nobody has met (package descendants).
type Program = descendants.Program[*Process]
