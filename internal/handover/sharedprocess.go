// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/descendants"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/observe/taskstack"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

// SharedProcess is an event's process, as producer and aggregator share it, with the values that flow back about it.
type SharedProcess struct {
	ID     sample.ProcessID // the producer's, from the first event on
	Target *loadedcode.Process
	// Child: a sampled process has started it, and its time counts from its start. Parent is the parent's ID at
	// discovery, 0 if unknown.
	Child  bool
	Parent int

	// FromStart: all its time lies within the recording. Since is the start of its account, CLOCK_MONOTONIC ns. The
	// producer sets both before the first event.
	FromStart bool
	Since     int64

	// Plans are what is copied of threads that were not walked yet.
	Plans         observe.Plans
	otherMemory   atomic.Pointer[observe.OtherMemory]
	lack          atomic.Uint32
	taskDir       *procmem.TaskDir
	usedStack     atomic.Int64  // see [SharedProcess.NoteUsedStack]
	firstCopy     atomic.Int64  // see [SharedProcess.SetFirstCopy]
	firstStackEnd atomic.Uint64 // see [SharedProcess.FirstStackEnd]
	codeChanged   atomic.Int64  // last, CLOCK_MONOTONIC ns; 0: never

	schedulers int // number of schedulers of tasks at the last SetOtherMemory; for the aggregator

	// Comm is its name. Ended: its account is closed. Both are the aggregator's.
	Comm  string
	Ended bool
}

// NewSharedProcess opens the list of threads, as the producer looks up no path of /proc. Child and parent are as in
// [SharedProcess].
func NewSharedProcess(target *loadedcode.Process, child bool, parent int) *SharedProcess {
	p := &SharedProcess{Target: target, Child: child, Parent: parent}
	p.taskDir, _ = procmem.OpenTasks(target.PID, nil) // nil if it has ended
	p.ProgramChanged()
	p.MappingsChanged()
	return p
}

// TakeTaskDir returns the list of threads, once; nil: it has ended. The caller closes it.
func (p *SharedProcess) TakeTaskDir() *procmem.TaskDir {
	dir := p.taskDir
	p.taskDir = nil
	return dir
}

// MappingsChanged updates the first plan, and the stacks of tasks.
func (p *SharedProcess) MappingsChanged() {
	p.Plans.Store(callstack.FirstPlan(p.Target.Runtimes().FrameSources()))
	if n := len(p.Target.Runtimes().TaskOffsets()); n != p.schedulers { // one was loaded
		p.schedulers = n
		p.SetOtherMemory(taskstack.Of(p.Target))
	}
}

// ProgramChanged updates, after an exec, what is copied besides stacks and what samples will lack, and discards what
// was known.
func (p *SharedProcess) ProgramChanged() {
	p.schedulers = len(p.Target.Runtimes().TaskOffsets())
	tasks := taskstack.Of(p.Target)
	p.SetOtherMemory(tasks)
	p.firstStackEnd.Store(0)
	if tasks == nil { // else tasks copies the stacks of a thread
		p.firstStackEnd.Store(p.Target.FirstStackEnd())
	}
	p.expectLack(tasks != nil)
}

// SetFirstCopy sets the first sample's bytes of the first thread's stack, as learned from another process of the file;
// 0: unknown.
func (p *SharedProcess) SetFirstCopy(n int64) { p.firstCopy.Store(n) }

// FirstCopy is as set by SetFirstCopy.
func (p *SharedProcess) FirstCopy() int64 { return p.firstCopy.Load() }

// FirstStackEnd is the end of the stack on which the first thread began; 0: not copied while the thread is on another.
func (p *SharedProcess) FirstStackEnd() frames.Addr { return p.firstStackEnd.Load() }

// SetOtherMemory sets what observations copy besides the threads' stacks; nil: nothing.
func (p *SharedProcess) SetOtherMemory(other observe.OtherMemory) { p.otherMemory.Store(&other) }

// TakeOtherMemory returns what SetOtherMemory has set since the last call, or false if nothing was set.
func (p *SharedProcess) TakeOtherMemory() (observe.OtherMemory, bool) {
	next := p.otherMemory.Swap(nil)
	if next == nil {
		return nil, false
	}
	return *next, true
}

// codeChangesFor is how long a process counts as generating code, ns.
const codeChangesFor = 1e9

// CodeChanged notes that code was added or removed by the time of a sample, CLOCK_MONOTONIC ns.
func (p *SharedProcess) CodeChanged(at int64) { p.codeChanged.Store(at) }

// CodeChanging reports that the code changed lately. Samples are then handed over at once.
func (p *SharedProcess) CodeChanging(at int64) bool {
	moved := p.codeChanged.Load()
	return moved != 0 && at-moved < codeChangesFor
}

// Program is the program of an untracked process (package descendants).
type Program = descendants.Program[*SharedProcess]
