// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"prywalk/internal/callstack"
	"prywalk/internal/dump/stacks"
	"prywalk/internal/loadedcode"
	"prywalk/internal/managed"
	"prywalk/internal/observe"
)

var taskStates = map[managed.TaskState]string{
	managed.TaskWaiting: "waiting", managed.TaskReady: "ready", managed.TaskRunning: "running",
}

// depth bounds each task's frames; negative: no bound.
func setTasks(p *stacks.Process, list managed.TaskList, depth int) {
	p.TasksChanged, p.TasksMore = list.Changed, list.More
	for i := range list.Tasks {
		t := &list.Tasks[i]
		d := stacks.Task{Name: t.Name, Family: t.Family, State: taskStates[t.State], Awaits: t.Awaits,
			AwaitsTasks: t.AwaitsTasks, How: stacks.ReadTwice, Frames: []stacks.Frame{}}
		if t.Undisturbed {
			d.How = observe.ByPassiveRead.String()
		}
		for j := range t.Frames {
			if f := &t.Frames[j]; depth < 0 || j < depth {
				d.Frames = append(d.Frames, stacks.Frame{Place: &stacks.Place{Function: f.Function, File: f.File, Line: f.Line,
					Kind: managed.Kind(t.Runtime), Module: "[" + t.Runtime + "]"}})
			}
		}
		p.Tasks = append(p.Tasks, d)
	}
}

func tasksOf(t *loadedcode.Process) managed.TaskList {
	w := t.WatchThreads()
	defer w.Close()
	return callstack.Tasks(t.Runtimes().FrameSources(), w)
}
