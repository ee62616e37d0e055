// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"path"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/managed"
)

// # Tasks of asyncio
//
// From 3.14 on each thread and each interpreter has a list of its tasks, and a section of _asyncio says where
// (Py_AsyncioModuleDebugOffsets, Modules/_asynciomodule.c). Before, asyncio.tasks has them in a set of weak references.
// A task has, one after the other, what it waits for, its coroutine, and its name.

var _ managed.Lister = (*Runtime)(nil)

// Offsets in tasks, in bytes, from the one of the coroutine.
const (
	taskWaits = 8 // in front of it
	taskName  = 8 // behind it
)

// taskPlaces are the size of a task, by its type, and where its coroutine is, in releases that do not describe it.
var taskPlaces = map[int]struct{ size, coroutine uint64 }{
	8: {144, 112}, 9: {184, 152}, 10: {192, 160}, 11: {176, 136}, 12: {176, 136}, 13: {144, 120},
}

// Offsets in sets (Include/cpython/setobject.h), weak references, lists, types and numbers, in bytes.
const (
	setMask, setTable  = 32, 40
	refObject          = 16
	listSize, listItem = 16, 24
	typeBase           = 256
	numberSize         = 16 // lv_tag from 3.12 on
	numberDigits       = 24
)

const (
	mostSet      = 1 << 20 // places of a set
	mostListed   = 1 << 17 // tasks of all lists
	mostBases    = 16
	mostChildren = 1 << 10
	taskTries    = 4  // readings of a task that changes
	digitBits    = 30 // of a digit of a number
)

// taskPlan says where tasks and their lists are.
type taskPlan struct {
	taskType           uint64
	coroutine          uint64
	node, thread, main uint64 // 3.14 on: of the list in a task, in a thread's state, in an interpreter
	awaitedBy, many    uint64 // 3.14 on: who waits for it, and whether that is a set
}

// secTasks is the section in which 3.14 and later describe tasks.
const secTasks = ".AsyncioDebug"

// findTasks finds where tasks are; false if the process has none, or not as expected.
func (r *Runtime) findTasks(o *objects) (p taskPlan, ok bool) {
	module := o.get(o.entries(r.modules()), "_asyncio")
	if !o.is(module, r.moduleType) {
		return p, false
	}
	p.taskType = o.get(o.entries(r.read64(module+moduleDict+r.wider)), "Task")
	if p.taskType == 0 {
		return p, false
	}
	size := r.read64(p.taskType + typeSize + r.wider)
	if r.minor < 14 {
		place := taskPlaces[r.minor]
		p.coroutine = place.coroutine + r.wider
		return p, size == place.size+r.wider && place.size != 0
	}
	for _, m := range r.host.Modules() {
		if !maybePython(m) || m.Name != r.name && !strings.HasPrefix(path.Base(m.Name), "_asyncio.") {
			continue
		}
		if _, b, ok := r.host.Section(m, secTasks); ok && len(b) >= 13*8 {
			at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
			p.awaitedBy, p.many, p.coroutine, p.node, p.main, p.thread = at(2), at(4), at(5), at(6), at(8), at(12)
			if m.Name == r.name || at(0) == size {
				return p, at(0) == size && max(p.coroutine, p.node, p.awaitedBy, p.many) < size && max(p.main, p.thread) < 1<<24
			}
		}
	}
	return p, false
}

// modules gives the dict of the main interpreter's modules, 0 if it is not known.
func (r *Runtime) modules() uint64 {
	if r.interpModules == 0 || r.threads.head == 0 {
		return 0
	}
	return r.read64(r.threads.head - uint64(r.interpThreads) + uint64(r.interpModules))
}

// Tasks implements [managed.Lister].
func (r *Runtime) Tasks(w managed.Watch) (list managed.TaskList) {
	o := r.objects()
	r.readThreads()
	p, ok := r.findTasks(o)
	if !ok {
		return list
	}
	t := &taskReader{r: r, o: o, taskPlan: p, watch: w}
	for i := range r.threads.list {
		if id := int(r.threads.list[i].native); id != 0 && !slices.Contains(t.tids, id) {
			t.tids = append(t.tids, id)
		}
	}
	r.walk = walk{sample: &managed.Sample{Mem: nothing{}, Live: t}, live: true, pages: &r.pages}
	r.pages.n = 0
	var places []uint64
	awaited := map[uint64][]string{} // by who awaits them
	for _, at := range t.all() {
		if len(list.Tasks) == managed.MostTasks {
			list.More++
			continue
		}
		switch task, by, what := t.read(at); what {
		case taskKnown:
			list.Tasks, places = append(list.Tasks, task), append(places, at)
			for _, at := range by {
				awaited[at] = append(awaited[at], task.Name)
			}
		case taskChanges:
			list.Changed++
		}
	}
	for i, at := range places { // who waits for a group of tasks waits for a future that does not know them
		if task := &list.Tasks[i]; task.State == managed.TaskWaiting && len(task.AwaitsTasks) == 0 {
			task.AwaitsTasks = awaited[at]
		}
	}
	return list
}

// nothing is a memory of which nothing was copied.
type nothing struct{}

// Word implements [frames.Memory].
func (nothing) Word(uint64) (uint64, bool) { return 0, false }

// Cut implements [frames.Memory].
func (nothing) Cut(uint64) bool { return false }

// taskReader reads the tasks of a process. It implements [managed.Live] for the reading of names.
type taskReader struct {
	taskPlan
	r     *Runtime
	o     *objects
	watch managed.Watch
	tids  []int
}

// Read implements [managed.Live].
func (t *taskReader) Read(addr uint64, b []byte) int { return t.r.host.Read(addr, b) }

// Unchanged implements [managed.Live]: whoever reads a task looks at that itself.
func (t *taskReader) Unchanged() bool { return true }

// What reading a task came to.
type taskFound uint8

const (
	taskOver taskFound = iota
	taskKnown
	taskChanges
)

// read reads a task: once while nobody ran who could change it, or twice with the same result. by are the tasks that
// wait for it.
func (t *taskReader) read(at uint64) (task managed.Task, by []uint64, what taskFound) {
	var last managed.Task
	had := false
	for range taskTries {
		still := t.watch.Mark(t.tids)
		if task, by, what = t.once(at); what == taskOver { // it never begins again
			return task, by, what
		}
		if still && t.watch.Slept() {
			task.Proven = true
			return task, by, what
		}
		if had && what == taskKnown && sameTask(&last, &task) {
			return task, by, what
		}
		if had = what == taskKnown; had {
			last = task
		}
	}
	return task, nil, taskChanges
}

// sameTask compares two readings.
func sameTask(a, b *managed.Task) bool {
	return a.Name == b.Name && a.State == b.State && a.Awaits == b.Awaits && slices.Equal(a.AwaitsTasks, b.AwaitsTasks) &&
		slices.Equal(a.Frames, b.Frames)
}

// once reads a task as it is.
func (t *taskReader) once(at uint64) (task managed.Task, by []uint64, what taskFound) {
	r := t.r
	if !t.isTask(at) || !r.alive(at) {
		return task, nil, taskOver
	}
	co := r.coroutineOf(r.read64(at + t.coroutine))
	if co == 0 {
		return task, nil, taskOver
	}
	frames, state, ok := r.awaiting(co)
	switch {
	case !ok:
		return task, nil, taskChanges
	case state == coOver:
		return task, nil, taskOver
	}
	task = managed.Task{Name: t.name(at), Family: "asyncio", Frames: frames}
	waits := r.read64(at + t.coroutine - taskWaits)
	switch {
	case state == coRuns:
		task.State = managed.TaskRunning
	case waits == 0:
		task.State = managed.TaskReady
	default:
		task.Awaits, task.AwaitsTasks = t.awaited(waits)
	}
	return task, t.awaiters(at), taskKnown
}

// name gives the name of a task. From 3.12 on a number stands for the one that it has of itself.
func (t *taskReader) name(task uint64) string {
	r := t.r
	at := r.read64(task + t.coroutine + taskName)
	switch {
	case at == 0:
		return ""
	case t.o.is(at, r.textType):
		name, _ := r.textOf(r.host, at)
		return name
	case r.minor >= 12 && t.o.is(at, r.numberType):
		return "Task-" + t.number(at)
	}
	return ""
}

// awaited gives the class of what a task waits for, and the names of the tasks that this is or that it gathers.
func (t *taskReader) awaited(at uint64) (class string, names []string) {
	class = t.r.typeName(t.r.read64(at + objectType + t.r.wider))
	switch {
	case t.isTask(at):
		return class, []string{t.name(at)}
	case class != "_GatheringFuture":
		return class, nil
	}
	children := t.o.attribute(at, "_children")
	n := t.r.read64(children + listSize + t.r.wider)
	if children == 0 || n > mostChildren {
		return class, nil
	}
	b := make([]byte, 8*n)
	b = b[:t.r.host.Read(t.r.read64(children+listItem+t.r.wider), b)]
	for ; len(b) >= 8; b = b[8:] {
		if child := binary.LittleEndian.Uint64(b); t.isTask(child) {
			names = append(names, t.name(child))
		}
	}
	return class, names
}

// awaiters gives the tasks that wait for a task, where the release keeps them.
func (t *taskReader) awaiters(task uint64) []uint64 {
	if t.awaitedBy == 0 {
		return nil
	}
	at := t.r.read64(task + t.awaitedBy)
	if byte(t.r.read64(task+t.many&^7)>>(t.many&7*8)) != 0 {
		return t.members(at)
	}
	return []uint64{at}
}

// number gives a number of one or two digits of the interpreter's own, in decimal.
func (t *taskReader) number(at uint64) string {
	n := t.r.read64(at+numberSize+t.r.wider) >> 3
	digits := t.r.read64(at + numberDigits + t.r.wider)
	v := digits & (1<<32 - 1)
	if n > 1 {
		v |= digits >> 32 << digitBits
	}
	return strconv.FormatUint(v, 10)
}
