// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"path"
	"strconv"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/walk/managed"
)

// # Tasks of asyncio
//
// From 3.14 on each thread and interpreter has a list of its tasks, described by a section of _asyncio
// (Py_AsyncioModuleDebugOffsets, Modules/_asynciomodule.c). Before, asyncio.tasks has a set of weak references. A task
// has, in order, what it waits for, coroutine, name.

// Bytes from the coroutine.
const (
	futWaiterBefore = 8
	nameAfter       = 8
)

const futureLoop = 16 // fut_loop

var taskLayouts = map[int]struct{ size, coroutine uint64 }{
	8: {144, 112}, 9: {184, 152}, 10: {192, 160}, 11: {176, 136}, 12: {176, 136}, 13: {144, 120},
}

// Offsets, bytes; sets: Include/cpython/setobject.h.
const (
	setMask, setTable  = 32, 40
	weakrefObject      = 16
	listSize, listItem = 16, 24
	typeBaseClass      = 256
	longTag            = 16 // lv_tag from 3.12 on
	longDigits         = 24
)

const (
	maxSet      = 1 << 20 // slots
	maxListed   = 1 << 17 // of all lists
	maxBases    = 16
	maxChildren = 1 << 10
	// maxListWork bounds the frames, children and 16 slots of sets that are read for one list. Tasks may share them:
	// 16,384 tasks with one chain of 4,096 coroutines take hours and gigabytes.
	maxListWork   = 1 << 18
	longDigitBits = 30
)

type asyncioOffsets struct {
	Task struct {
		Size, Name, AwaitedBy, IsTask uint64
		AwaitedBySet                  uint64 // byte: several tasks await it
		Coroutine, Node               uint64
	}
	Interpreter struct{ Size, Head uint64 } // Head: list of tasks
	Thread      struct{ Size, Loop, Task, Head uint64 }
}

func (o *asyncioOffsets) sane() bool {
	t := &o.Task
	return max(t.Coroutine, t.Node, t.AwaitedBy, t.AwaitedBySet) < t.Size && max(o.Interpreter.Head, o.Thread.Head) < 1<<24
}

const secTasks = ".AsyncioDebug"

func (t *taskReader) find() bool {
	r, o := t.r, t.o
	module := o.get(o.entries(t.threads.modules()), "_asyncio")
	if !o.is(module, r.moduleType) {
		return false
	}
	t.taskType = o.get(o.entries(r.read64(module+moduleDict+r.headExtra)), "Task")
	if t.taskType == 0 {
		return false
	}
	size := r.read64(t.taskType + typeSize + r.headExtra)
	if r.minor < 14 {
		place := taskLayouts[r.minor]
		t.coroutine = place.coroutine + r.headExtra
		return size == place.size+r.headExtra && place.size != 0
	}
	for _, m := range r.host.Modules() {
		if !maybePython(m) || !r.owns(m) && !strings.HasPrefix(path.Base(m.Name), "_asyncio.") {
			continue
		}
		_, b, _ := r.host.Section(m, secTasks)
		var d asyncioOffsets
		if n, _ := binary.Decode(b, binary.LittleEndian, &d); n == 0 {
			continue
		}
		if r.owns(m) || d.Task.Size == size {
			t.offsets = d
			t.coroutine = d.Task.Coroutine
			return d.Task.Size == size && d.sane()
		}
	}
	return false
}

// Coroutines implements [managed.Threads].
func (r *Runtime) Coroutines(w managed.Watch) (list managed.TaskList) {
	t := r.taskReader()
	if t == nil {
		return list
	}
	r.begin(t, w)
	return t.list()
}

func (t *taskReader) list() (list managed.TaskList) {
	var places []uint64
	awaited := map[uint64][]string{} // by awaiting task
	all, whole := t.greenletList(listTries)
	all = append(all, t.asyncioTasks()...)
	t.left = maxListWork
	list = managed.ReadTasks(all, whole, &t.left, func(at uint64) (managed.Task, managed.TaskStatus) {
		task, status := t.read(at)
		if status == managed.TaskKnown {
			places = append(places, at)
			t.left += len(task.Frames) // ReadTasks subtracts them again
			for _, at := range task.AwaitedBy {
				awaited[at] = append(awaited[at], task.Name)
			}
		}
		return task, status
	})
	for i, at := range places { // a group's awaiter awaits a future without the members
		if task := &list.Tasks[i]; task.State == managed.TaskWaiting && len(task.AwaitsTasks) == 0 {
			task.AwaitsTasks = awaited[at]
		}
	}
	return list
}

type taskReader struct {
	r       *interpreter
	o       *objects
	threads *threads
	codes   *codes
	watch   managed.Watch
	tids    []int

	taskType  uint64
	coroutine uint64         // its offset in a task
	offsets   asyncioOffsets // 3.14 on
	left      int            // of maxListWork
	greenlets greenlets
}

func (t *taskReader) read(at uint64) (managed.Task, managed.TaskStatus) {
	return managed.ReadTask(t.watch, t.tids, func() (managed.Task, managed.TaskStatus) { return t.readOnce(at) })
}

func (t *taskReader) readOnce(at uint64) (task managed.Task, status managed.TaskStatus) {
	r := t.r
	t.codes.view.Pages.Reset(r.host)
	switch {
	case !t.codes.alive(at):
		return task, managed.TaskDone
	case t.isGreenletType(r.read64(at + objectType)):
		return t.readGreenlet(at)
	case !t.isTask(at):
		return task, managed.TaskDone
	}
	co := r.coroutineOf(r.read64(at + t.coroutine))
	if co == 0 {
		return task, managed.TaskDone
	}
	frames, locals, state, ok := t.awaiting(co)
	switch {
	case !ok:
		return task, managed.TaskChanges
	case state == coCleared:
		return task, managed.TaskDone
	}
	task = managed.Task{Name: t.name(at), Family: languages.AsyncioFamily, Frames: frames, AwaitedBy: t.awaiters(at)}
	waits := r.read64(at + t.coroutine - futWaiterBefore)
	switch {
	case state == coExecuting:
		task.State = managed.TaskRunning
	case waits == 0:
		task.State = managed.TaskReady
	default:
		task.Awaits, task.AwaitsAt = t.awaited(waits)
		for _, at := range task.AwaitsAt {
			task.AwaitsTasks = append(task.AwaitsTasks, t.name(at))
		}
		task.Wait = waitOf(&task)
		task.Reads = t.reads(&task.Frames[0], locals)
	}
	return task, managed.TaskKnown
}

// waitOf names the library function that the program called, else the class of the awaited object.
func waitOf(t *managed.Task) string {
	switch called := calledIn(t.Frames, t.Family); {
	case called != "":
		return t.Family + "." + called
	case t.Awaits == gatherClass:
		return t.Family + ".gather"
	}
	return t.Awaits
}

// reads returns the descriptor of the StreamReader that waits in a frame with locals, or 0 (asyncio/streams.py;
// from 3.11 on). Its transport is of a socket (asyncio/selector_events.py) or a pipe (asyncio/unix_events.py).
func (t *taskReader) reads(f *managed.Frame, locals uint64) int {
	if locals == 0 || f.Function != "StreamReader._wait_for_data" || path.Base(f.File) != "streams.py" {
		return 0
	}
	self := t.r.read64(locals) & t.r.frameMask
	transport := t.o.attribute(self, "_transport")
	for _, name := range []string{"_sock_fd", "_fileno"} {
		if n := t.o.attribute(transport, name); t.o.is(n, t.r.longType) {
			return int(t.r.read64(n+longDigits+t.r.headExtra) & (1<<longDigitBits - 1))
		}
	}
	return 0
}

const gatherClass = "_GatheringFuture"

func (t *taskReader) name(task uint64) string {
	r := t.r
	at := r.read64(task + t.coroutine + nameAfter)
	switch {
	case at == 0:
		return ""
	case t.o.is(at, r.unicodeType):
		name, _ := t.o.text(at)
		return name
	case r.minor >= 12 && t.o.is(at, r.longType):
		return "Task-" + t.number(at)
	}
	return ""
}

func (t *taskReader) awaited(at uint64) (class string, tasks []uint64) {
	class = t.r.typeName(t.r.read64(at + objectType + t.r.headExtra))
	switch {
	case t.isTask(at):
		return class, []uint64{at}
	case class != gatherClass:
		return class, nil
	}
	children := t.o.attribute(at, "_children")
	n := t.r.read64(children + listSize + t.r.headExtra)
	if children == 0 || n > maxChildren {
		return class, nil
	}
	t.left -= int(n)
	b := make([]byte, 8*n)
	b = b[:t.r.host.Read(t.r.read64(children+listItem+t.r.headExtra), b)]
	for ; len(b) >= 8; b = b[8:] {
		if child := binary.LittleEndian.Uint64(b); t.isTask(child) {
			tasks = append(tasks, child)
		}
	}
	return class, tasks
}

func (t *taskReader) awaiters(task uint64) []uint64 {
	d := &t.offsets.Task
	if d.AwaitedBy == 0 {
		return nil
	}
	at := t.r.read64(task + d.AwaitedBy)
	if byte(t.r.read64(task+d.AwaitedBySet&^7)>>(d.AwaitedBySet&7*8)) != 0 {
		return t.members(at)
	}
	if at == 0 {
		return nil
	}
	return []uint64{at}
}

func (t *taskReader) number(at uint64) string {
	n := t.r.read64(at+longTag+t.r.headExtra) >> 3
	digits := t.r.read64(at + longDigits + t.r.headExtra)
	v := digits & (1<<32 - 1)
	if n > 1 {
		v |= digits >> 32 << longDigitBits
	}
	return strconv.FormatUint(v, 10)
}
