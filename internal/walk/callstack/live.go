// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// Live is a process's memory while a sample is walked: [managed.Live]. It is reused.
type Live struct {
	ReadMemory func(addr uint64, b []byte) int // returns the number of bytes read
	// TID is the sampled thread, RunCount its run count at the copy if it was off the processor.
	PID, TID  int
	RunCount  uint64
	HasRun    bool       // since the copy, as the thread was stopped while running
	RunCounts *RunCounts // optional
}

// RunCounts reads run counts, and keeps the last files open, for one goroutine at a time.
type RunCounts struct {
	budget *procmem.FDBudget
	files  [maxOpenCounts]*procmem.ThreadFiles
}

// reservedDescriptors are left for other uses.
const (
	maxOpenCounts       = 16
	reservedDescriptors = 512
)

// NewRunCounts opens no file.
func NewRunCounts() *RunCounts { return &RunCounts{budget: procmem.NewFDBudget(reservedDescriptors)} }

func (c *RunCounts) runCount(pid, tid int) (uint64, error) {
	kept := &c.files[tid%maxOpenCounts]
	f := *kept
	if f == nil || f.PID() != pid || f.TID() != tid {
		if f != nil {
			f.Close()
		}
		f = procmem.OpenThread(pid, tid, c.budget)
		*kept = f
	}
	now, err := f.SchedStat()
	if err != nil { // it has ended; its ID may be reused
		f.Close()
		*kept = nil
	}
	return now.Runs, err
}

// Close closes all files.
func (c *RunCounts) Close() {
	for i, f := range c.files {
		if f != nil {
			f.Close()
			c.files[i] = nil
		}
	}
}

// Read implements [managed.Live].
func (l *Live) Read(addr uint64, b []byte) int { return l.ReadMemory(addr, b) }

// Unchanged reports whether the run count is the copy's. A count of 0 is of a kernel without counts.
func (l *Live) Unchanged() bool {
	if l.HasRun || l.RunCount == 0 {
		return false
	}
	counts := l.RunCounts
	if counts == nil {
		counts = &RunCounts{}
		defer counts.Close()
	}
	runs, err := counts.runCount(l.PID, l.TID)
	return err == nil && runs == l.RunCount
}

// CoreMemory is a core's memory as a [managed.Live].
type CoreMemory func(addr uint64, b []byte) int

// Read implements [managed.Live].
func (s CoreMemory) Read(addr uint64, b []byte) int { return s(addr, b) }

// Unchanged implements [managed.Live].
func (CoreMemory) Unchanged() bool { return true }

// TaskMemory is the copy of a waiting task's stack, and elsewhere current memory. The callers of a goroutine in a
// callback from C are on its thread's stack, unchanged while it waits.
type TaskMemory struct {
	frames.Snapshot
	live  Live
	pages managed.Pages
}

// Begin takes a task's stack.
func (m *TaskMemory) Begin(stack frames.Region, end frames.Addr, read func(addr uint64, b []byte) int) {
	m.Snapshot = frames.Snapshot{Stack: stack, StackEnd: end}
	m.live.ReadMemory = read
	m.pages.Reset(&m.live)
}

// Word implements [frames.Memory].
func (m *TaskMemory) Word(addr frames.Addr) (uint64, bool) {
	if v, ok := m.Snapshot.Word(addr); ok {
		return v, true
	}
	return m.pages.Word(addr)
}
