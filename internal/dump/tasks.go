// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/internal/observe"
)

// Task is a task, as of asyncio, whether a thread runs it or not.
type Task struct {
	Name   string `json:"name"`
	Family string `json:"family"`
	// State is waiting, ready or running.
	State string `json:"state"`
	// Awaits is the class of what it waits for, AwaitsTasks are the names of the tasks in that.
	Awaits      string   `json:"awaits,omitempty"`
	AwaitsTasks []string `json:"awaits_tasks,omitempty"`
	// How is peek if no thread of the interpreter ran during the read, twice if two readings agree, or core.
	How string `json:"how"`
	// Frames are its coroutines, innermost first; of a running one only the outermost.
	Frames []Frame `json:"frames"`
}

var (
	taskStates = map[managed.TaskState]string{
		managed.TaskWaiting: "waiting", managed.TaskReady: "ready", managed.TaskRunning: "running",
	}
	taskHows = map[bool]string{true: observe.ByPassiveRead.String(), false: "twice"}
)

// setTasks sets the tasks. depth bounds the frames of each; negative: no bound.
func (p *Process) setTasks(list managed.TaskList, depth int) {
	p.TasksChanged, p.TasksMore = list.Changed, list.More
	for i := range list.Tasks {
		t := &list.Tasks[i]
		d := Task{Name: t.Name, Family: t.Family, State: taskStates[t.State], Awaits: t.Awaits, AwaitsTasks: t.AwaitsTasks,
			How: taskHows[t.Proven], Frames: []Frame{}}
		for j := range t.Frames {
			if f := &t.Frames[j]; depth < 0 || j < depth {
				d.Frames = append(d.Frames, Frame{Place: &Place{Function: f.Function, File: f.File, Line: f.Line,
					Kind: managed.Kind(t.Runtime), Module: "[" + t.Runtime + "]"}})
			}
		}
		p.Tasks = append(p.Tasks, d)
	}
}

func tasksOf(t *code.Process) managed.TaskList {
	w := t.WatchThreads()
	defer w.Close()
	return callstack.Tasks(t.Runtimes().FrameSources(), w)
}
