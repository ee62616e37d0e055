// SPDX-License-Identifier: Apache-2.0

package managed

// MostTasks bounds the tasks of a TaskList.
const MostTasks = 1 << 14

// TaskList is one reading of tasks.
type TaskList struct {
	Tasks []Task
	// Changed counts the tasks that changed at each reading, More those beyond [MostTasks], or beyond the frames that a
	// list may have.
	Changed, More int
}

// TaskState is a task's state.
type TaskState uint8

// A running task has its frames on a thread's stack.
const (
	TaskWaiting TaskState = iota
	TaskReady
	TaskRunning
)

// Task is a task without a thread, or a thread's running task.
type Task struct {
	// Family is the library ("asyncio"). Runtime is set by callstack.Tasks.
	Name, Family, Runtime string
	State                 TaskState
	// Wait is the awaited operation, as "asyncio.Queue.get".
	Wait string
	// Awaits is the class of the awaited object, AwaitsTasks the names of awaited tasks.
	Awaits      string
	AwaitsTasks []string
	// AwaitsAt and AwaitedBy are addresses of tasks; AwaitedBy only from Python 3.14 on.
	AwaitsAt, AwaitedBy []uint64
	// Frames are its coroutines, innermost first; of a running one only the outermost.
	Frames []Frame
	// Undisturbed: no interpreter thread ran during the reading.
	Undisturbed bool
}

// Watch reports whether threads sleep during a reading.
type Watch interface {
	// Mark notes the threads' run counts, and reports whether all sleep.
	Mark(tids []int) bool
	// Slept reports whether none has run since the last Mark.
	Slept() bool
}
