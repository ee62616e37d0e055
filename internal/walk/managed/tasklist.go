// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"slices"
	"time"

	"prywalk/internal/host/procmem"
)

// MostTasks bounds the tasks of a TaskList.
const MostTasks = 1 << 14

// TaskList is one reading of tasks.
type TaskList struct {
	Tasks []Task
	// Changed counts the tasks that changed at each reading, More those beyond [MostTasks], or the frames of a list.
	Changed, More int
	// Examined means that the list is of tasks that can hold locks (virtual threads). Mounted are on a thread's stack; the
	// stacks of Unproven do not end at a first function; Unlisted are sets and links of the list that could not be read.
	// Untracked: the program's options keep its tasks from being listed.
	Examined, Untracked         bool
	Mounted, Unproven, Unlisted int
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
	// Family is the library ("asyncio"). Runtime is [Runtime.Name], set by callstack.Tasks.
	Name, Family, Runtime string
	// ID is the program's number of the task, or 0 if there is none.
	ID    uint64
	State TaskState
	// Count is the number of tasks of an [AwaitList] with these frames.
	Count int
	// Wait is the awaited operation, as "asyncio.Queue.get".
	Wait string
	// Entry is the program's first function, or "" if the outermost frame's is.
	Entry string
	// Awaits is the class of the awaited object, AwaitsTasks the names of awaited tasks.
	Awaits      string
	AwaitsTasks []string
	// Reads is the descriptor that the awaited bytes come from; 0 means none, or not known.
	Reads int
	// WaitsFor is what a virtual thread waits for, or nil if that is unknown.
	WaitsFor *WaitAnswer
	// AwaitsAt and AwaitedBy are addresses of tasks; AwaitedBy only from Python 3.14 on.
	AwaitsAt, AwaitedBy []uint64
	// Frames are its coroutines, innermost first; of a running one only the outermost.
	Frames []Frame
	// Undisturbed means that no interpreter thread ran during the reading.
	Undisturbed bool
}

// Watch reports whether threads sleep during a reading.
type Watch interface {
	// Mark stores the run counts of threads, of all of the process's if tids is nil, and reports whether all sleep.
	Mark(tids []int) bool
	// Slept reports whether none has run since the last Mark.
	Slept() bool
}

// TaskStatus is the result of reading a task.
type TaskStatus uint8

// Values of TaskStatus.
const (
	TaskDone TaskStatus = iota // ended, or on a thread
	TaskKnown
	TaskChanges
	TaskUnproven // its stack is invalid
)

const taskTries = 4 // readings of a changing task

// ReadTask reads a task once while none of its runtime's threads could change it, or twice with one result.
func ReadTask(w Watch, tids []int, once func() (Task, TaskStatus)) (task Task, status TaskStatus) {
	var last Task
	had := false
	for range taskTries {
		still := w.Mark(tids)
		if task, status = once(); status == TaskDone { // final
			return task, status
		}
		if still && w.Slept() {
			task.Undisturbed = true
			return task, status
		}
		if had && status == TaskKnown && sameTask(&last, &task) {
			return task, status
		}
		if had = status == TaskKnown; had {
			last = task
		}
	}
	if status != TaskUnproven {
		status = TaskChanges
	}
	return task, status
}

func sameTask(a, b *Task) bool {
	return a.Name == b.Name && a.ID == b.ID && a.State == b.State && a.Awaits == b.Awaits &&
		a.Reads == b.Reads && slices.Equal(a.AwaitsTasks, b.AwaitsTasks) && slices.Equal(a.Frames, b.Frames)
}

// ReadTasks reads the tasks at places, at most [MostTasks], until their frames, and what read subtracts, use up left.
// whole means that places has all.
func ReadTasks(places []uint64, whole bool, left *int, read func(place uint64) (Task, TaskStatus)) (list TaskList) {
	if !whole {
		list.Unlisted++
	}
	for _, place := range places {
		if len(list.Tasks) == MostTasks || *left <= 0 {
			list.More++
			continue
		}
		switch task, status := read(place); status {
		case TaskKnown:
			list.Tasks = append(list.Tasks, task)
			*left -= len(task.Frames)
		case TaskChanges:
			list.Changed++
		case TaskUnproven:
			list.Unproven++
		}
	}
	return list
}

// TaskMemory is memory of which [ReadTask] proves that it is unchanged. It implements [Live].
type TaskMemory struct{ Reader }

// Unchanged implements [Live].
func (TaskMemory) Unchanged() bool { return true }

// YieldTasks reads the tasks at places, and yields them as [Threads].TasksAt does.
func YieldTasks(places []uint64, read func(place uint64) (Task, TaskStatus),
	yield func(place uint64, t Task, ok bool),
) {
	for _, place := range places {
		task, status := read(place)
		if status != TaskKnown {
			task = Task{}
		}
		yield(place, task, status == TaskKnown || status == TaskDone)
	}
}

// Listing is a recording's list of tasks: some of it may have ended. It is read in at most 1/listingShare of the time;
// readings of more than maxBetweenLists/listingShare, 50 ms, take more.
type Listing struct {
	places []uint64
	next   int64 // reading, in nanoseconds of CLOCK_MONOTONIC
}

const (
	listingShare    = 200
	maxBetweenLists = int64(10 * time.Second) // a reading may have waited for a CPU
	maxListed       = 1 << 17                 // places that a reading did not find
)

// Places returns the last list, or a new one if that is due. whole means that read returned all.
func (l *Listing) Places(read func() (places []uint64, whole bool)) []uint64 {
	begin := procmem.Now()
	if begin < l.next {
		return l.places
	}
	list, whole := read()
	if !whole { // those that were not found now
		list = append(list, l.places[:min(len(l.places), maxListed)]...)
		slices.Sort(list)
		list = slices.Compact(list)
	}
	now := procmem.Now()
	l.places, l.next = list, now+min(listingShare*(now-begin), maxBetweenLists)
	return list
}

// LibraryCall names the function that the program called: the outermost of the innermost ones of libraries, whose files
// isLibrary knows. The outermost of all was called by the task.
func LibraryCall(stack []Frame, isLibrary func(file string) bool) string {
	called := stack[0].Function
	for i := range stack[:max(len(stack)-1, 1)] {
		if !isLibrary(stack[i].File) {
			break
		}
		called = stack[i].Function
	}
	return called
}
