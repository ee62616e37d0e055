// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"regexp"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/languages"
	"prywalk/internal/walk/managed"
)

// fibers reads the fibers that no thread runs. A place is the address of an execution context.
type fibers struct {
	ruby   *Runtime
	pool   fiberPool
	stacks map[uint64]uint64 // VM stacks by place
	tids   []int
}

func (f *fibers) list() (places []uint64, whole bool) {
	f.stacks, f.tids = map[uint64]uint64{}, f.tids[:0]
	f.ruby.vm.readThreads()
	running := map[uint64]bool{}
	for _, th := range f.ruby.vm.threads.list {
		ec := f.ruby.vm.heap.word(th.at + uint64(f.ruby.vm.heap.threadEC))
		running[ec] = true
		f.pool.inFiber = ec - f.ruby.vm.heap.word(ec+uint64(f.ruby.vm.heap.ecThread)-8)
		if th.tid != 0 {
			f.tids = append(f.tids, th.tid)
		}
	}
	if len(running) == 0 || f.pool.inFiber > maxInFiber || !f.pool.find() {
		return nil, true
	}
	whole = f.pool.contexts(func(ec, stack uint64) {
		if !running[ec] {
			places, f.stacks[ec] = append(places, ec), stack
		}
	})
	return places, whole
}

const (
	maxInFiber     = 1 << 10 // bytes
	maxFiberFrames = 1 << 18 // of all fibers of a list
	fiberSelf      = 8
	fiberSelfLater = 16 // in some releases
)

// Coroutines implements [managed.Threads].
func (r *Runtime) Coroutines(w managed.Watch) managed.TaskList {
	f := &r.fibers
	places, whole := f.list()
	left := maxFiberFrames
	return managed.ReadTasks(places, whole, &left, f.reader(w))
}

// TaskPlaces implements [managed.Threads].
func (r *Runtime) TaskPlaces() []uint64 {
	places, _ := r.fibers.list()
	return places
}

// TasksAt implements [managed.Threads].
func (r *Runtime) TasksAt(places []uint64, w managed.Watch, yield func(place uint64, t managed.Task, ok bool)) {
	managed.YieldTasks(places, r.fibers.reader(w), yield)
}

func (f *fibers) reader(w managed.Watch) func(ec uint64) (managed.Task, managed.TaskStatus) {
	return func(ec uint64) (managed.Task, managed.TaskStatus) {
		return managed.ReadTask(w, f.tids, func() (managed.Task, managed.TaskStatus) { return f.readOnce(ec) })
	}
}

func (f *fibers) readOnce(ec uint64) (task managed.Task, status managed.TaskStatus) {
	r := f.ruby
	live := managed.TaskMemory{Reader: f.ruby.vm.host}
	f.ruby.view.Begin(&managed.Sample{Mem: &frames.Snapshot{}, Live: live})
	r.walk = walk{view: &f.ruby.view, vm: &f.ruby.vm, ec: ec, frames: r.walk.frames[:0]}
	value := r.walk.view.Value
	thread := value(ec + uint64(f.ruby.vm.heap.ecThread))
	switch {
	case value(ec+ecStack) != f.stacks[ec] || f.stacks[ec] == 0, thread == 0:
		return task, managed.TaskDone
	case value(thread+uint64(f.ruby.vm.heap.threadEC)) == ec: // it runs
		return task, managed.TaskDone
	}
	var ok bool
	if r.walk.frames, ok = f.ruby.vm.heap.appendFrames(r.walk.frames, ec, r.walk.view.Word); !ok {
		return task, managed.TaskUnproven
	}
	refs := r.appendRefs(0, len(r.walk.frames), nil)
	if len(refs) == 0 || r.walk.broken {
		return task, managed.TaskUnproven
	}
	task = managed.Task{Name: "Fiber", Family: languages.FiberTask, ID: f.object(ec)}
	for _, ref := range refs {
		var certainty managed.Certainty
		if task.Frames, certainty = r.Symbolize(ref, live, task.Frames); certainty == managed.Freed {
			return task, managed.TaskChanges
		}
	}
	task.Wait = fiberWait(task.Frames)
	return task, managed.TaskKnown
}

// object returns the address of the Fiber object, which Fiber#inspect shows.
func (f *fibers) object(ec uint64) uint64 {
	fiber := ec - f.pool.inFiber
	for _, at := range []uint64{fiberSelf, fiberSelfLater} {
		self := f.ruby.walk.view.Value(fiber + at)
		if isPointer(self) && f.ruby.walk.view.Value(self)&typeMask == typeData &&
			f.ruby.walk.view.Value(self+dataStart) == fiber {
			return self
		}
	}
	return fiber
}

// fiberWait names the method that the program called. Libraries are those in C, of Ruby and of event loops.
func fiberWait(stack []managed.Frame) string {
	return managed.LibraryCall(stack, func(file string) bool {
		return file == "" || strings.HasPrefix(file, "<internal:") || ofEventLoop.MatchString(file)
	})
}

var ofEventLoop = regexp.MustCompile(`/gems/(async|io-event)-[^/]*/`)
