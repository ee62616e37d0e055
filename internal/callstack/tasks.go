// SPDX-License-Identifier: Apache-2.0

package callstack

import "prywalk/internal/managed"

// Tasks returns a process's tasks without a thread.
func Tasks(sources []managed.FrameSource, w managed.Watch) (all managed.TaskList) {
	for t := range threadsOf(sources) {
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

// CoreWatch is the [managed.Watch] of a core, in which nothing runs.
type CoreWatch struct{}

// Mark implements [managed.Watch].
func (CoreWatch) Mark([]int) bool { return true }

// Slept implements [managed.Watch].
func (CoreWatch) Slept() bool { return true }
