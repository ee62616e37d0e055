// SPDX-License-Identifier: Apache-2.0

package managed

// Lister is a Runtime that has tasks without a thread: coroutines that wait for an event loop to go on with them.
type Lister interface {
	Runtime
	// Tasks gives the tasks of the process as they are now, at most [MostTasks]. Each was read while none of the threads
	// that could change it ran, or twice with the same result ([Task.Proven]). It is for the goroutine that walks.
	Tasks(w Watch) TaskList
}

// MostTasks is how many tasks are described.
const MostTasks = 1 << 14

// TaskList is what there is of tasks.
type TaskList struct {
	Tasks []Task
	// Changed counts those that were another one each time that they were read, as of a loop that is busy. More counts
	// those beyond [MostTasks].
	Changed, More int
}

// TaskState says what a task does.
type TaskState uint8

// The states of tasks. One that runs has its frames on the stack of a thread.
const (
	TaskWaiting TaskState = iota
	TaskReady
	TaskRunning
)

// Task is a task without a thread, or the one that a thread runs.
type Task struct {
	// Name is what the program calls it, Family the library that it belongs to: "asyncio". Runtime is the name of the
	// run-time system, which callstack.Tasks fills in.
	Name, Family, Runtime string
	State                 TaskState
	// Awaits is the class of what it waits for, AwaitsTasks are the names of the tasks that it waits for, if it is such.
	Awaits      string
	AwaitsTasks []string
	// Frames are its coroutines, the innermost first; of one that runs only the outermost is known.
	Frames []Frame
	// Proven: no thread of the interpreter ran while it was read.
	Proven bool
}

// Watch tells whether threads sleep, for reading what they would change. They are named by their numbers in the
// process's own pid namespace.
type Watch interface {
	// Mark notes the run counts of threads, and reports whether all of them sleep.
	Mark(tids []int) bool
	// Slept reports whether none of them has run since the last Mark.
	Slept() bool
}
