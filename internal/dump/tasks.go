// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// Task is a task without a thread, as one of asyncio, or the one that a thread runs.
type Task struct {
	Name   string `json:"name"`
	Family string `json:"family"`
	// State is waiting, ready or running.
	State string `json:"state"`
	// Awaits is the class of what it waits for, AwaitsTasks are the names of the tasks that this is made of.
	Awaits      string   `json:"awaits,omitempty"`
	AwaitsTasks []string `json:"awaits_tasks,omitempty"`
	// How it was read: peek if no thread of the interpreter ran meanwhile, twice if it was the same in two readings, or
	// core.
	How string `json:"how"`
	// Frames are its coroutines, innermost first; of a running one only the outermost.
	Frames []Frame `json:"frames"`
}

// taskStates are the words for states, taskHows for how a task was read.
var (
	taskStates = map[managed.TaskState]string{
		managed.TaskWaiting: "waiting", managed.TaskReady: "ready", managed.TaskRunning: "running",
	}
	taskHows = map[bool]string{true: look.ByPeek.String(), false: "twice"}
)

// setTasks fills in the tasks, with at most depth frames each; negative: all.
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

// watch tells whether threads of a live process sleep. It implements [managed.Watch].
type watch struct {
	of    *code.Process
	files map[int]*procmem.ThreadFiles // by the threads' numbers in their own pid namespace
	runs  map[int]uint64
}

// newWatch opens nothing before it is asked.
func newWatch(t *code.Process) *watch { return &watch{of: t, runs: map[int]uint64{}} }

// open opens all threads of the process.
func (w *watch) open() {
	w.files = map[int]*procmem.ThreadFiles{}
	tids, _ := w.of.Threads(nil) // who has ended does not run
	for _, tid := range tids {
		w.files[innerTID(w.of, tid)] = procmem.OpenThread(w.of.PID, tid, nil)
	}
}

func (w *watch) close() {
	for _, f := range w.files {
		f.Close()
	}
}

// Mark implements [managed.Watch]. The count is read first: who sleeps afterwards, and has it still at the end, has
// slept in between.
func (w *watch) Mark(tids []int) bool {
	if w.files == nil {
		w.open()
	}
	clear(w.runs)
	for _, tid := range tids {
		f := w.files[tid]
		if f == nil {
			return false
		}
		var st procmem.Stat
		sched, err := f.SchedStat()
		if err != nil || sched.Runs == 0 || f.Stat(&st) != nil || st.State == 'R' {
			return false
		}
		w.runs[tid] = sched.Runs
	}
	return true
}

// Slept implements [managed.Watch].
func (w *watch) Slept() bool {
	for tid, runs := range w.runs {
		if sched, err := w.files[tid].SchedStat(); err != nil || sched.Runs != runs {
			return false
		}
	}
	return true
}

// tasksOf reads the tasks of a live process.
func tasksOf(t *code.Process) managed.TaskList {
	w := newWatch(t)
	defer w.close()
	return callstack.Tasks(t.Namers(), w)
}
