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

// SharedProcess is shared by producer and aggregator.
type SharedProcess struct {
	// NewSharedProcess sets these. Child: a sampled process has started it, and its time counts from its start. Parent
	// is the parent's process id at discovery, 0 if unknown.
	Target  *loadedcode.Process
	Child   bool
	Parent  int
	taskDir *procmem.TaskDir

	// The producer writes these before the process's first event. FromStart: all its time lies within the recording.
	// Since is the start of its account, CLOCK_MONOTONIC ns.
	ID        sample.ProcessID
	FromStart bool
	Since     int64

	// The aggregator writes these, and the producer reads them at any time, and resets otherMemory and usedStack.
	Plans         observe.Plans
	otherMemory   atomic.Pointer[observe.OtherMemory] // nil: taken
	usedStack     atomic.Int64                        // bytes; 0: taken
	firstCopy     atomic.Int64
	firstStackEnd atomic.Uint64
	codeChangedAt atomic.Int64 // CLOCK_MONOTONIC ns; 0: never
	codeFreedAt   atomic.Int64 // CLOCK_MONOTONIC ns; 0: never
	lack          atomic.Int64 // a [SampleLack]; the producer raises it, too

	// Only the aggregator uses these.
	Comm       string
	Ended      bool // its account is closed
	schedulers int  // at the last SetOtherMemory
}

// NewSharedProcess opens the list of threads, as the producer looks up no path of /proc.
func NewSharedProcess(target *loadedcode.Process, child bool, parent int) *SharedProcess {
	p := &SharedProcess{Target: target, Child: child, Parent: parent}
	p.taskDir, _ = procmem.OpenTasks(target.PID, nil) // nil if it has ended
	p.ResetForProgram()
	p.MappingsChanged()
	return p
}

// TakeTaskDir returns the list of threads, once; nil: it has ended. The caller closes it.
func (p *SharedProcess) TakeTaskDir() *procmem.TaskDir {
	dir := p.taskDir
	p.taskDir = nil
	return dir
}

// MappingsChanged updates the first plans, and the stacks of tasks.
func (p *SharedProcess) MappingsChanged() {
	p.Plans.Store(callstack.FirstPlans(p.Target.Runtimes().FrameSources()))
	if n := len(p.Target.Runtimes().TaskOffsets()); n != p.schedulers { // one was loaded
		p.schedulers = n
		p.SetOtherMemory(taskstack.New(p.Target))
	}
}

// ResetForProgram sets what is copied besides stacks, and the expected lack, for the present program.
func (p *SharedProcess) ResetForProgram() {
	p.schedulers = len(p.Target.Runtimes().TaskOffsets())
	tasks := taskstack.New(p.Target)
	p.SetOtherMemory(tasks)
	p.firstStackEnd.Store(0)
	if tasks == nil { // else tasks copies the stacks of a thread
		p.firstStackEnd.Store(p.Target.FirstStackEnd())
	}
	p.lack.Store(int64(expectedLack(p.Target, tasks != nil)))
}

// SetFirstCopy sets FirstCopy.
func (p *SharedProcess) SetFirstCopy(n int64) { p.firstCopy.Store(n) }

// FirstCopy returns the bytes of the first thread's stack in its first sample; 0: unknown.
func (p *SharedProcess) FirstCopy() int64 { return p.firstCopy.Load() }

// FirstStackEnd is the end of the first thread's stack; 0: not copied while the thread is on another.
func (p *SharedProcess) FirstStackEnd() frames.Addr { return p.firstStackEnd.Load() }

// SetOtherMemory sets what observations copy besides stacks; nil: nothing.
func (p *SharedProcess) SetOtherMemory(other observe.OtherMemory) { p.otherMemory.Store(&other) }

// TakeOtherMemory returns what was set since the last call; false: nothing was set.
func (p *SharedProcess) TakeOtherMemory() (observe.OtherMemory, bool) {
	next := p.otherMemory.Swap(nil)
	if next == nil {
		return nil, false
	}
	return *next, true
}

// codeChangesFor is how long after a change a process counts as generating code, ns.
const codeChangesFor = 1e9

// CodeChanged records that a walk at CLOCK_MONOTONIC walkedAt, ns, found new or removed code.
func (p *SharedProcess) CodeChanged(walkedAt int64) { raise(&p.codeChangedAt, walkedAt) }

// CodeFreed records that a walk at CLOCK_MONOTONIC walkedAt, ns, found a function that was freed since the sample.
func (p *SharedProcess) CodeFreed(walkedAt int64) { raise(&p.codeFreedAt, walkedAt) }

// CodeChanging reports whether the code has changed in the second before CLOCK_MONOTONIC now, ns.
func (p *SharedProcess) CodeChanging(now int64) bool { return isRecent(&p.codeChangedAt, now) }

// WalkAtOnce reports whether samples are handed over at once: code has changed or was freed lately.
func (p *SharedProcess) WalkAtOnce(now int64) bool {
	return p.CodeChanging(now) || isRecent(&p.codeFreedAt, now)
}

func isRecent(last *atomic.Int64, now int64) bool {
	at := last.Load()
	return at != 0 && now-at < codeChangesFor
}

// Program is the program of an untracked process (package descendants).
type Program = descendants.Program[*SharedProcess]
