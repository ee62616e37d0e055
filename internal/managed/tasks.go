// SPDX-License-Identifier: Apache-2.0

package managed

// Tasker is a Runtime whose threads run tasks on stacks of their own, as goroutines. A thread that is on the stack of
// its scheduler, or of a signal's handler, has left that of its task, where the walk goes on.
type Tasker interface {
	Runtime
	// Tasks says where the stacks are that a thread has left; nil: that is not known. It does not change while the
	// Runtime is there.
	Tasks() *Tasks
}

// Tasks is, as data, how to get from a stopped thread to the stack of its task. The tracer carries it out. It goes
// from the description of the task that runs to that of its worker (what runs tasks on this thread). From there it
// goes to the task that the worker has, and to the saved stack pointer of that one. In Go a task is a g, a worker
// an m.
type Tasks struct {
	// InRegister: the address of the description of the running task is in a register, by its DWARF number; other code
	// may use it for something else. If not, it is in the word at the thread pointer plus TLS.
	InRegister bool
	Register   uint8
	TLS        int64
	// Offsets within a task's description: the bounds of its stack, its worker, and its saved stack pointer.
	StackLo, StackHi, Worker, SavedSP int64
	// Offsets within a worker's: the tasks that are its scheduler and its handlers of signals, and the one that it has.
	Scheduler, Signals, Current int64
	// TaskSize and WorkerSize are how many bytes of each are copied, from its beginning.
	TaskSize, WorkerSize int
}
