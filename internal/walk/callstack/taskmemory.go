// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

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
