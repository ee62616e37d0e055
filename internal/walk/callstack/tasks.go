// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"slices"

	"prywalk/internal/walk/managed"
)

// Tasks returns a process's tasks without a thread.
func Tasks(sources []managed.FrameSource, w managed.Watch) (all managed.TaskList) {
	for t := range of[managed.Threads](sources) {
		list := t.Coroutines(w)
		for i := range list.Tasks {
			list.Tasks[i].Runtime = t.Name()
		}
		all.Tasks = append(all.Tasks, list.Tasks...)
		all.Changed += list.Changed
		all.More += list.More
		all.Unproven += list.Unproven
		all.Mounted += list.Mounted
		all.Unlisted += list.Unlisted
		all.Examined = all.Examined || list.Examined
		all.Untracked = all.Untracked || list.Untracked
	}
	return all
}

// Awaits returns a process's suspended functions. It searches a heap until a time, CLOCK_MONOTONIC ns.
func Awaits(sources []managed.FrameSource, w managed.Watch, until int64) (list managed.AwaitList) {
	for source := range of[managed.AwaitSource](sources) {
		if list.Read == 0 {
			list = source.Awaits(w, until)
		}
	}
	return list
}

// TaskWait is what the task with a number ([managed.Task.ID]) waits for now; nil: unknown, or it went on.
func TaskWait(sources []managed.FrameSource, id uint64) (wait *managed.WaitAnswer) {
	for t := range of[managed.Threads](sources) {
		if !slices.Contains(t.TaskPlaces(), id) {
			continue
		}
		t.TasksAt([]uint64{id}, CoreWatch{}, func(_ uint64, task managed.Task, ok bool) {
			if ok && task.ID == id {
				wait = task.WaitsFor
			}
		})
	}
	return wait
}

// CoreWatch is the [managed.Watch] of a core, in which nothing runs.
type CoreWatch struct{}

// Mark implements [managed.Watch].
func (CoreWatch) Mark([]int) bool { return true }

// Slept implements [managed.Watch].
func (CoreWatch) Slept() bool { return true }
