// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"prywalk/internal/base/languages"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

var taskStates = map[managed.TaskState]string{
	managed.TaskWaiting: "waiting", managed.TaskReady: "ready", managed.TaskRunning: "running",
}

// depth bounds each task's frames; a negative depth is no bound. reads is [readsOf]'s, nil for a core.
func setTasks(
	p *stacks.Process, list managed.TaskList, depth int, owners waits.ThreadFinder, reads map[int]*waits.Wait,
) {
	p.TasksChanged, p.TasksMore = list.Changed, list.More
	if !list.Examined {
		p.TasksUnproven, p.TasksUnlisted = list.Unproven, list.Unlisted
	}
	m := mergedTasks{process: p, depth: depth, owners: owners, at: map[mergedKey]int{}, names: map[uint64]string{},
		places: map[int]string{}, stacks: map[string]*managed.Frame{}}
	for i := range list.Tasks {
		m.names[list.Tasks[i].ID] = list.Tasks[i].Name
	}
	for i := range list.Tasks {
		if t := &list.Tasks[i]; mergedKinds[t.Family] != "" {
			m.add(t)
		} else {
			d := newTask(t, depth)
			d.WaitsFor = taskWait(t, reads)
			p.Tasks = append(p.Tasks, d)
		}
	}
	slices.SortStableFunc(p.Tasks, func(a, b stacks.Task) int { return cmp.Compare(a.Count, b.Count) }) // others have 1
	if list.Examined {
		p.VirtualThreads = &stacks.VirtualThreads{
			Total:   m.n + list.Mounted + list.Changed + list.Unproven + list.More,
			Mounted: list.Mounted, Changed: list.Changed, Unproven: list.Unproven, Unlisted: list.Unlisted,
			Untracked: list.Untracked, Waiting: m.waiting,
		}
		for i := range p.Threads {
			if w := p.Threads[i].WaitsFor; w != nil && w.OwnerTask != 0 {
				name, listed := m.names[w.OwnerTask]
				if w.OwnerName = name; !listed && w.Kind == waits.Monitor { // perhaps a thread that has just begun
					w.OwnerTask = 0
				}
			}
		}
		p.TasksChanged = 0
	}
}

func newTask(t *managed.Task, depth int) stacks.Task {
	d := stacks.Task{Kind: t.Family, ID: t.ID, Name: t.Name, Count: 1, State: taskStates[t.State], Awaits: t.Awaits,
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
	return d
}

// taskWait is nil unless a task waits.
func taskWait(t *managed.Task, reads map[int]*waits.Wait) *waits.Wait {
	switch {
	case t.State != managed.TaskWaiting:
		return nil
	case t.Wait == languages.AsyncioSleep:
		return &waits.Wait{Kind: waits.Sleep}
	case reads[t.Reads] != nil:
		return reads[t.Reads]
	}
	return &waits.Wait{Kind: waits.Other, Symbol: t.Wait}
}

// readsOf returns the waits for the descriptors that tasks of a living process read from.
func readsOf(list managed.TaskList, pid int) map[int]*waits.Wait {
	files, all := waits.NewOpenFiles(pid), map[int]*waits.Wait{}
	for t := range stacks.Each(list.Tasks) {
		if t.Reads != 0 && all[t.Reads] == nil {
			w := &waits.Wait{Kind: waits.Descriptor, FD: &waits.OpenFile{FD: waits.FileNumber(t.Reads)}}
			if files.AddFileDetails(w); w.FD.Path != "" {
				all[t.Reads] = w
			}
		}
	}
	return all
}

// mergedTasks are virtual threads, greenlets and fibers, those with equal stacks and waits together.
type mergedTasks struct {
	process *stacks.Process
	depth   int
	n       int // virtual threads
	owners  waits.ThreadFinder
	names   map[uint64]string
	at      map[mergedKey]int // index of the process's tasks
	places  map[int]string    // by index
	stacks  map[string]*managed.Frame
	waiting []stacks.VirtualWait
}

type mergedKey struct {
	state        managed.TaskState
	innermost    *managed.Frame // of equal stacks
	family       string
	awaits       string
	owner        int
	ownerTask    uint64
	kind         waits.Kind
	timed, known bool
}

// mergedKinds are kinds of tasks by family.
var mergedKinds = map[string]string{
	languages.VirtualThreadTask: stacks.VirtualThreadKind, languages.GreenletTask: languages.GreenletTask,
	languages.FiberTask: languages.FiberTask,
}

const mostNames = 8

func (m *mergedTasks) add(t *managed.Task) {
	isVirtual := t.Family == languages.VirtualThreadTask
	if isVirtual {
		m.n++
	}
	k := mergedKey{state: t.State, awaits: t.Awaits, family: t.Family, innermost: m.innermost(t)}
	var wait *waits.Wait
	if w := t.WaitsFor; w != nil {
		k.owner, k.ownerTask, k.kind, k.timed, k.known = w.Owner, w.OwnerTask, w.Kind, w.Timed, true
		wait = new(callstack.WaitFrom(w))
		if wait.ResolveOwner(m.owners); wait.Owner != 0 {
			if owner := m.process.Thread(wait.Owner); owner != nil {
				wait.OwnerName = owner.Name
			}
		} else if wait.OwnerTask != 0 {
			wait.OwnerName = m.names[wait.OwnerTask]
		}
	}
	tasks := &m.process.Tasks
	i, has := m.at[k]
	if !has {
		i = len(*tasks)
		d := newTask(t, m.depth)
		d.Kind, d.Awaits, d.WaitsFor, d.Count = mergedKinds[t.Family], "", wait, 0
		m.at[k], *tasks = i, append(*tasks, d)
		m.places[i] = d.OwnPlace()
	}
	if wait != nil && wait.Kind.IsSynchronization() {
		m.waiting = append(m.waiting, stacks.VirtualWait{ID: t.ID, Name: t.Name, In: m.places[i], Wait: *wait})
	}
	d := &(*tasks)[i]
	d.Count++
	if w := d.WaitsFor; w != nil && w.Owner == 0 && w.OwnerTask == 0 && d.Count > 1 {
		w.Address = 0 // of the first only
	}
	if len(d.Names) < mostNames {
		name := fmt.Sprintf("%s at 0x%x", t.Name, t.ID)
		if isVirtual {
			name = cmp.Or(t.Name, "#"+strconv.FormatUint(t.ID, 10))
		}
		d.Names = append(d.Names, name)
	}
}

// innermost returns one frame for equal stacks. Those of virtual threads have one list already.
func (m *mergedTasks) innermost(t *managed.Task) *managed.Frame {
	if len(t.Frames) == 0 {
		return nil
	}
	if t.Family == languages.VirtualThreadTask {
		return &t.Frames[0]
	}
	key := ""
	for f := range stacks.Each(t.Frames) {
		key += fmt.Sprintf("%s\x00%s\x00%d\x00", f.Function, f.File, f.Line)
	}
	if m.stacks[key] == nil {
		m.stacks[key] = &t.Frames[0]
	}
	return m.stacks[key]
}

// awaitTime bounds the search of a heap.
const awaitTime = int64(2 * time.Second)

// setAwaits adds the suspended functions of a process; nil if no heap was found.
func setAwaits(p *stacks.Process, list managed.AwaitList, depth int) {
	if list.Read == 0 {
		return
	}
	p.Awaits = &list.AwaitCounts
	for i := range list.Tasks {
		d := newTask(&list.Tasks[i], depth)
		if d.Count = list.Tasks[i].Count; list.Undisturbed {
			d.How = observe.ByPassiveRead.String()
		}
		p.Tasks = append(p.Tasks, d)
	}
	slices.SortStableFunc(p.Tasks, func(a, b stacks.Task) int { return cmp.Compare(a.Count, b.Count) })
}
