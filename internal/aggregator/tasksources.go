// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"
	"slices"

	"prywalk/frames"
	"prywalk/internal/languages"
	"prywalk/internal/managed"
	"prywalk/internal/profile"
)

// taskRuntime is a runtime with tasks.
type taskRuntime struct {
	taskSource
	id        any    // of the runtime
	batchSize int    // the most places of one Poll
	label     string // value of the recording's label task
	totals    *taskTotals
}

// taskSource reads tasks. Places are those of [managed.Scheduler].
type taskSource interface {
	Places() (int, error)
	Poll(from, to int, changed []int) []int
	readTask(place int) (taskOutcome, taskKind, frames.StopReason)
}

type taskOutcome uint8

const (
	taskWaits     taskOutcome = iota
	taskNotParked             // on a thread, ended, or the runtime's own
	taskChanged               // changed in each reading
)

func taskRuntimesOf(a *Aggregator, p *processState) (out []taskRuntime) {
	for _, scheduler := range p.Target.Runtimes().Schedulers() {
		source := &goroutines{Scheduler: scheduler, stacks: a.stacks, process: p}
		out = append(out, taskRuntime{source, scheduler, 1 << 12, languages.GoroutineTask, &a.out.totals.goroutines})
	}
	for _, n := range p.Target.Runtimes().FrameSources() {
		if lister, is := n.(managed.Threads); is {
			source := &coroutines{lister: lister, source: n, stacks: a.stacks, process: p, places: map[uint64]int{}}
			out = append(out, taskRuntime{source, lister, 1 << 4, languages.CoroutineTask, &a.out.totals.coroutines})
		}
	}
	return out
}

type goroutines struct {
	managed.Scheduler
	stacks  *stackBuilder
	process *processState
	labels  map[uint64]string // by address, of one Poll
}

// Poll implements [taskSource].
func (g *goroutines) Poll(from, to int, changed []int) []int {
	g.labels = map[uint64]string{}
	return g.Scheduler.Poll(from, to, changed)
}

func (g *goroutines) readTask(place int) (taskOutcome, taskKind, frames.StopReason) {
	var t managed.TaskRecord
	stack, ok := g.Task(place, &t)
	switch {
	case !ok:
		return taskChanged, taskKind{}, 0
	case t.OnThread || t.System:
		return taskNotParked, taskKind{}, 0
	}
	end, beyond := g.stacks.walkTask(g.process, &t, stack)
	if beyond && !g.Reread(&t) {
		return taskChanged, taskKind{}, 0
	}
	labels, known := g.labels[t.LabelsAt]
	if !known {
		labels = profile.LabelText(g.LabelsAt(t.LabelsAt))
		g.labels[t.LabelsAt] = labels
	}
	return taskWaits, taskKind{t.Entry, cmp.Or(t.Wait, t.Status), labels}, end
}

type coroutines struct {
	lister  managed.Threads
	source  managed.FrameSource
	stacks  *stackBuilder
	process *processState
	places  map[uint64]int  // by task's address
	slots   []coroutineSlot // by place
	free    []int
}

type coroutineSlot struct {
	task uint64 // address; 0: none, or it has ended
	last managed.Task
	ran  bool // changed in each reading
}

const maxCoroutines = managed.MostTasks

// Places implements [taskSource]. It reuses places of ended tasks.
func (c *coroutines) Places() (int, error) {
	now := c.lister.TaskPlaces()
	c.freeEnded(now)
	for _, task := range now {
		if _, known := c.places[task]; !known && task != 0 && len(c.places) < maxCoroutines {
			i := c.freePlace()
			c.slots[i], c.places[task] = coroutineSlot{task: task}, i
		}
	}
	return len(c.slots), nil
}

func (c *coroutines) freeEnded(now []uint64) {
	living := make(map[uint64]bool, len(now))
	for _, task := range now {
		living[task] = true
	}
	for task, i := range c.places {
		if !living[task] {
			delete(c.places, task)
			c.slots[i].task = 0
			c.free = append(c.free, i)
		}
	}
}

func (c *coroutines) freePlace() int {
	n := len(c.free)
	if n == 0 {
		c.slots = append(c.slots, coroutineSlot{})
		return len(c.slots) - 1
	}
	i := c.free[n-1]
	c.free = c.free[:n-1]
	return i
}

// Poll implements [taskSource]. A task is unchanged if it waits at the same place for the same object.
func (c *coroutines) Poll(from, to int, changed []int) []int {
	watch := c.process.Target.WatchThreads()
	defer watch.Close()
	for i := from; i < min(to, len(c.slots)); i++ {
		var t managed.Task
		s, ok := &c.slots[i], true
		if s.task != 0 {
			t, ok = c.lister.TaskAt(s.task, watch)
		}
		was := &s.last
		s.ran = !ok
		if !ok || t.State != was.State || t.Name != was.Name || t.Awaits != was.Awaits ||
			!slices.Equal(t.Frames, was.Frames) {
			*was = t
			changed = append(changed, i)
		}
	}
	return changed
}

func (c *coroutines) readTask(place int) (taskOutcome, taskKind, frames.StopReason) {
	t := &c.slots[place].last
	switch {
	case c.slots[place].ran:
		return taskChanged, taskKind{}, 0
	case len(t.Frames) == 0 || t.State == managed.TaskRunning:
		return taskNotParked, taskKind{}, 0
	}
	if c.process.managedNames.read == nil {
		c.process.managedNames = newManagedNames(c.process)
	}
	module := c.stacks.managedModule(c.process, c.source, nil)
	c.stacks.beginStack()
	for i := range t.Frames {
		description := c.stacks.builder.InternFrames([]profile.Frame{profileFrame(&t.Frames[i])})
		id := c.stacks.builder.Loc(&profile.Loc{Module: module, FramesID: description})
		c.stacks.stack = append(c.stacks.stack, id)
	}
	return taskWaits, taskKind{firstFunction: t.Frames[len(t.Frames)-1].Function, wait: waitOf(t)}, frames.StopRoot
}

const waitsForLoop = "ready"

func waitOf(t *managed.Task) string {
	if t.State == managed.TaskReady {
		return waitsForLoop
	}
	return cmp.Or(t.Wait, "[not known]")
}
