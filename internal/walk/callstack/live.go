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
	PID, TID int
	RunCount uint64
	HasRun   bool // since the copy, as the thread was stopped while running
}

// Read implements [managed.Live].
func (l *Live) Read(addr uint64, b []byte) int { return l.ReadMemory(addr, b) }

// Unchanged reports whether the run count is the copy's. A count of 0 is of a kernel without counts.
func (l *Live) Unchanged() bool {
	if l.HasRun || l.RunCount == 0 {
		return false
	}
	f := procmem.OpenThread(l.PID, l.TID, nil)
	defer f.Close()
	now, err := f.SchedStat()
	return err == nil && now.Runs == l.RunCount
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
