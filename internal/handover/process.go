// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/descendants"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

// Process identifies an event's process, and holds the values that flow back about it.
type Process struct {
	ID     sample.ProcessID // set by the producer before the first event
	Target *code.Process
	// Child is set if a sampled process has started it: its time then counts from its start. Parent is the ID of its
	// parent at discovery, 0 if unknown.
	Child  bool
	Parent int

	// FromStart is set if all its time lies within the recording. Since is the start of its account, CLOCK_MONOTONIC
	// ns. The producer sets both before the first event.
	FromStart bool
	Since     int64

	// Plans are what the producer copies of threads that were not walked yet.
	Plans         observe.Plans
	extra         atomic.Pointer[observe.Extra]
	lack          atomic.Uint32
	taskDir       *procmem.TaskDir
	usedStack     atomic.Int64  // see [Process.NoteUsedStack]
	firstCopy     atomic.Int64  // see [Process.SetFirstCopy]
	firstStackEnd atomic.Uint64 // see [Process.FirstStackEnd]
	codeChanged   atomic.Int64  // last change of its generated code, CLOCK_MONOTONIC ns; 0 if none

	schedulers int // number of schedulers of tasks at the last TaskStacks; for the aggregator

	// Comm is its name. Ended is set when its account is closed. Both are for the aggregator.
	Comm  string
	Ended bool
}

// NewProcess returns a process, with what to copy of it and what kernel samples will lack. It opens the list of
// threads, as the producer walks no path of /proc.
func NewProcess(target *code.Process, child bool, parent int) *Process {
	p := &Process{Target: target, Child: child, Parent: parent}
	p.taskDir, _ = procmem.OpenTasks(target.PID, nil) // nil if it has ended
	p.ProgramChanged()
	p.MappingsChanged()
	return p
}

// TakeTaskDir returns the list of its threads, once; nil if the process has ended. The caller closes it.
func (p *Process) TakeTaskDir() *procmem.TaskDir {
	dir := p.taskDir
	p.taskDir = nil
	return dir
}

// MappingsChanged updates the first plan and the stacks of tasks after a change of the mappings.
func (p *Process) MappingsChanged() {
	p.Plans.Store(callstack.FirstPlan(p.Target.Runtimes().Namers()))
	if n := len(p.Target.Runtimes().Tasks()); n != p.schedulers { // one was loaded
		p.schedulers = n
		p.CopyAlso(observe.TaskStacks(p.Target))
	}
}

// ProgramChanged updates, after an exec, what is copied besides stacks and what samples will lack. It discards what was
// known of the earlier program.
func (p *Process) ProgramChanged() {
	p.schedulers = len(p.Target.Runtimes().Tasks())
	extra := observe.TaskStacks(p.Target)
	p.CopyAlso(extra)
	p.firstStackEnd.Store(0)
	if extra == nil { // else extra copies the stacks of a thread
		p.firstStackEnd.Store(p.Target.FirstStackEnd())
	}
	p.expectLack(extra != nil)
}

// SetFirstCopy sets the bytes of stack that the first sample of the first thread copies, as learned from another
// process of the same file; 0 if unknown.
func (p *Process) SetFirstCopy(n int64) { p.firstCopy.Store(n) }

// FirstCopy returns the last value of SetFirstCopy.
func (p *Process) FirstCopy() int64 { return p.firstCopy.Load() }

// FirstStackEnd returns the end of the stack on which the first thread began, 0 if it need not be copied while the
// thread is on another stack.
func (p *Process) FirstStackEnd() frames.Addr { return p.firstStackEnd.Load() }

// CopyAlso sets what is copied besides stacks. extra may be nil.
func (p *Process) CopyAlso(extra observe.Extra) { p.extra.Store(&extra) }

// TakeExtra returns a new value of CopyAlso, or false if there is none.
func (p *Process) TakeExtra() (observe.Extra, bool) {
	next := p.extra.Swap(nil)
	if next == nil {
		return nil, false
	}
	return *next, true
}

// changingFor is how long after a change a process counts as generating code, in ns.
const changingFor = 1e9

// CodeChanged records that generated code was added or removed by the time of a sample, CLOCK_MONOTONIC ns.
func (p *Process) CodeChanged(at int64) { p.codeChanged.Store(at) }

// CodeChanging reports whether generated code has changed lately. What is known of it is soon out of date, so samples
// are handed over at once.
func (p *Process) CodeChanging(at int64) bool {
	moved := p.codeChanged.Load()
	return moved != 0 && at-moved < changingFor
}

// Program is the program of an undiscovered process (package descendants).
type Program = descendants.Program[*Process]
