// SPDX-License-Identifier: Apache-2.0

package php

import (
	"fmt"
	"regexp"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/languages"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// # Waiting fibers (PHP 8.2 on)
//
//	executor globals             zend_object               zend_fiber
//	+objects ──► array of ────►  8  handle           ┌──►  0  zend_object
//	          8  top             16 class ── Fiber ──┘     72 context's kind: the class Fiber, once it has begun
//	                                                       104 context's status
//	                                                       168 the one that resumed it, while it runs or resumes others
//	                                                       +fiberCall ──► innermost call ──► … ──► bottom
//	                                                       +8 ──────────────────────────────────►
//
// A suspended fiber's calls end at its bottom, a record of the nameless internal function, without an outer one.

const (
	objectHandle, objectClass = 8, 16
	objectsTop                = 8
	fiberKind, fiberStatus    = 72, 104
	fiberCaller               = 168
	fiberSuspended            = 2 // ZEND_FIBER_STATUS_SUSPENDED

	symFiber = "zend_ce_fiber"

	maxObjects    = 1 << 21 // of a thread, that are searched
	maxListing    = int64(time.Second)
	maxReading    = int64(10 * time.Second)
	objectsAtOnce = 512 // words of the array
	listTries     = 4
	maxFiberWork  = 1 << 19 // readings, and records and calls that they read, of one list: damaged fibers share chains
	maxFibers     = 1 << 17
)

// fibers reads the fibers that are suspended. A place is the address of the object.
type fibers struct {
	php     *Runtime
	classAt uint64 // zend_ce_fiber; 0 means unknown
	listed  managed.Listing
	left    int // of maxFiberWork
	// end is that of a dump's reading, in nanoseconds of CLOCK_MONOTONIC: functions of one call can have 4 MiB of opcodes.
	end int64
}

// Waiting implements [managed.Threads]: PHP has no locks.
func (r *Runtime) Waiting(*managed.WaitQuery) (answer managed.WaitAnswer, ok bool) {
	return answer, false
}

// Coroutines implements [managed.Threads].
func (r *Runtime) Coroutines(w managed.Watch) managed.TaskList {
	places, whole := r.fibers.list()
	r.fibers.left, r.fibers.end = maxFiberWork, procmem.Now()+maxReading
	defer func() { r.fibers.end = 0 }()
	return managed.ReadTasks(places, whole, &r.fibers.left, r.fibers.reader(w))
}

// TaskPlaces implements [managed.Threads].
func (r *Runtime) TaskPlaces() []uint64 { return r.fibers.listed.Places(r.fibers.list) }

// TasksAt implements [managed.Threads].
func (r *Runtime) TasksAt(places []uint64, w managed.Watch, yield func(place uint64, t managed.Task, ok bool)) {
	managed.YieldTasks(places, r.fibers.reader(w), yield)
}

// list returns the fibers that have begun, and perhaps ended; whole means that no array was replaced or cut.
func (f *fibers) list() (places []uint64, whole bool) {
	if f.php.layout.fiberCall == 0 || f.classAt == 0 || f.php.globals == 0 {
		return nil, true
	}
	class, end := f.php.read64(f.classAt), procmem.Now()+maxListing
	again := true
	for try := 0; try < listTries && again && procmem.Now() < end; try++ {
		var found []uint64
		if found, whole, again = f.among(f.php.globals+uint64(f.php.layout.objects), class, end); whole ||
			len(found) > len(places) {
			places = found
		}
	}
	return places, whole
}

// among returns again if the array was replaced or could not be read.
func (f *fibers) among(objects, class uint64, end int64) (places []uint64, whole, again bool) {
	array, top := f.php.read64(objects), f.php.read64(objects+objectsTop)&0xffffffff
	f.php.view.Pages.Reset(f.php.host)
	has := func(addr, value uint64) bool {
		v, ok := f.php.view.Pages.Word(addr)
		return ok && v == value
	}
	for i := uint64(1); i < min(top, maxObjects); i++ { // the first has no object
		if i%objectsAtOnce == 0 && procmem.Now() > end {
			return places, false, false
		}
		object, ok := f.php.view.Pages.Word(array + 8*i) // a free slot's is odd
		if !ok {
			return places, false, true
		}
		if len(places) == maxFibers {
			return places, false, false
		}
		if object%8 == 0 && object >= 1<<12 && has(object+objectClass, class) && has(object+fiberKind, class) {
			places = append(places, object)
		}
	}
	same := f.php.read64(objects) == array
	return places, same && top <= maxObjects, !same
}

func (f *fibers) reader(w managed.Watch) func(at uint64) (managed.Task, managed.TaskStatus) {
	return func(at uint64) (managed.Task, managed.TaskStatus) {
		return managed.ReadTask(w, nil, func() (managed.Task, managed.TaskStatus) { return f.readOnce(at) })
	}
}

func (f *fibers) readOnce(at uint64) (task managed.Task, status managed.TaskStatus) {
	f.left--
	f.php.functions.begin(procmem.Now())
	r, w := f.php, &f.php.walk
	live := managed.TaskMemory{Reader: f.php.host}
	f.php.view.Begin(&managed.Sample{Regs: &frames.Regs{}, Mem: &frames.Snapshot{}, Live: live})
	*w = walk{view: &f.php.view, calls: w.calls[:0], runs: w.runs[:0]}
	class := w.view.Value(f.classAt)
	if class == 0 || w.view.Value(at+objectClass) != class || w.view.Value(at+fiberKind) != class ||
		uint32(w.view.Value(at+fiberStatus)) != fiberSuspended || w.view.Value(at+fiberCaller) != 0 {
		return task, managed.TaskDone
	}
	r.readCalls(w.view.Value(at + uint64(f.php.layout.fiberCall)))
	f.left -= w.steps + len(w.calls)
	bottom := w.view.Value(at + uint64(f.php.layout.fiberCall) + 8)
	if w.broken || w.incomplete || len(w.runs) == 0 || w.bottom != bottom || w.runsOnStack != len(w.runs) {
		return task, managed.TaskUnproven
	}
	task = managed.Task{
		Name: fmt.Sprintf("Fiber #%d", uint32(w.view.Value(at+objectHandle))), Family: languages.FiberTask, ID: at,
	}
	for _, ref := range r.appendRuns(len(w.runs), nil) {
		if f.end != 0 && procmem.Now() > f.end {
			f.left = 0
			return task, managed.TaskUnproven
		}
		var certainty managed.Certainty
		if task.Frames, certainty = r.Symbolize(ref, live, task.Frames); certainty == managed.Freed {
			return task, managed.TaskChanges
		}
	}
	task.Wait = managed.LibraryCall(task.Frames, func(file string) bool {
		return file == "" || ofEventLoop.MatchString(file)
	})
	return task, managed.TaskKnown
}

var ofEventLoop = regexp.MustCompile(`/vendor/(revolt|amphp|react)/`)
