// SPDX-License-Identifier: Apache-2.0

package managed

import "slices"

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
		slices.Equal(a.AwaitsTasks, b.AwaitsTasks) && slices.Equal(a.Frames, b.Frames)
}
