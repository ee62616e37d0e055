// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"sync/atomic"

	"prywalk/frames"
)

// Scheduler is a Runtime whose tasks have stacks, as goroutines. A walk on a scheduler's or signal stack continues on
// the task's. A place is the number of a task's record, which a later task reuses.
type Scheduler interface {
	Runtime
	// TaskOffsets returns the same each time, or nil if they are unknown.
	TaskOffsets() *TaskOffsets
	// AllTasks reads each task at its own time.
	AllTasks() ([]TaskRecord, error)
	// Reread reports whether a task is unchanged; an ended one is OnThread.
	Reread(t *TaskRecord) (same bool)
	// Places returns the number of places; it never decreases.
	Places() (int, error)
	// Poll appends the places in [from, to) whose records have changed since [Scheduler.Task].
	Poll(from, to int, changed []int) []int
	// Task reads the record at a place, and the stack of a task without thread, valid until the next call; it returns
	// false if it kept changing.
	Task(place int, t *TaskRecord) (stack []byte, ok bool)
	// Labels returns the labels of a stopped thread's task, LabelsAt those at [TaskRecord.LabelsAt].
	Labels(regs *frames.Regs, mem frames.Memory) map[string]string
	LabelsAt(addr frames.Addr) map[string]string
	// WaitsAt says what a parked task waits for, by its copied stack; it returns nil if it is unproven.
	WaitsAt(t *TaskRecord, stack []byte) []TaskWait
	// Polled returns the descriptor for which a parked task waits, by its copied stack, or false if it is unproven.
	Polled(t *TaskRecord, stack []byte) (fd int, ok bool)
	// HeldLocks returns the locks that a frame with stack pointer sp holds, by the function's code up to pc. awaited is
	// the only object that the task waits for; if it is 0, the lock that the frame's last call takes or releases is left
	// out. stack is the copied stack, or nil for the process's memory.
	HeldLocks(pc, sp, awaited frames.Addr, stack frames.Memory) []TaskLock
}

// TaskOffsets leads from a stopped thread to its task's stack: running task (in Go g), worker (m), current task, its
// saved stack pointer.
type TaskOffsets struct {
	// InRegister means that the running task's address is in Register (a DWARF number), which other code may reuse, else
	// in the word at the thread pointer plus TLS.
	InRegister bool
	Register   uint8
	TLS        int64
	// Offsets in a task: stack bounds, worker, saved stack pointer.
	StackLo, StackHi, Worker, SavedSP int64
	// Offsets in a worker: scheduler task, signal handler task, current task.
	SchedulerTask, SignalTask, CurrentTask int64
	// Labels is the offset of the labels' address in a task, or 0 if it is unknown. Safe for concurrent use.
	Labels *atomic.Int64
	// TaskSize and WorkerSize are the bytes to copy of each.
	TaskSize, WorkerSize int
}

// TaskRecord is one task and the location of its stack.
type TaskRecord struct {
	ID     uint64
	Parent uint64
	// Status and Wait are the runtime's words; Wait is "" unless the task waits.
	Status, Wait string
	Since        uint64 // about the start of the wait
	Labels       map[string]string
	CreatedBy    frames.Addr // a return address
	System       bool        // the runtime's own
	// OnThread means that the task is or was about to be on a thread; Regs are invalid.
	OnThread         bool
	Regs             frames.Regs // PC, SP and frame pointer
	StackLo, StackHi frames.Addr

	// Entry is the first function, LabelsAt the labels' address. Only [Scheduler.Task] sets them; it sets neither
	// Labels nor an ended task's Status.
	Entry    string
	LabelsAt frames.Addr

	Object frames.Addr
	Words  [6]uint64 // to detect changes
}

// Offsets of Mutex.sema and of RWMutex's writerSem and readerSem (package sync), to which [TaskWait.Address] points.
const (
	MutexSema  = 4
	WriterSema = 8
	ReaderSema = 12
)

// TaskWait is one thing that a task waits for; a select has several.
type TaskWait struct {
	Address      frames.Addr // of the semaphore's word or of the channel
	Channel      bool
	Send         bool
	Queued, Room uint64
	Closed       bool
}

// TaskLock is a lock that a frame holds.
type TaskLock struct {
	Address frames.Addr
	Read    bool
	Taken   frames.Addr // address of the locking instruction
}

// FileOf returns the path of a scheduler's file, or "".
func FileOf(s Scheduler) string {
	if m := s.Module(); m != nil {
		return m.Name
	}
	return ""
}
