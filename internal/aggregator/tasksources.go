// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"
	"slices"

	"prywalk/frames"
	"prywalk/internal/languages"
	"prywalk/internal/managed"
	"prywalk/internal/process"
	"prywalk/internal/profile"
)

// taskSource is a run-time system with tasks. Places are those of [managed.Scheduler].
type taskSource interface {
	Places() (int, error)
	Poll(from, to int, changed []int) []int
	// readTask reads a task. If it waits, the stackBuilder's stack is its stack.
	readTask(place int) (taskOutcome, taskKind, frames.StopReason)
	// batchSize is the most places of one Poll; task is the recording's label.
	batchSize() int
	task() string
	totals(*totals) *taskTotals
	sameRuntime(taskSource) bool // both are of one run-time system
}

type taskOutcome uint8

const (
	taskWaits     taskOutcome = iota
	taskNotParked             // on a thread, ended, or the run-time system's own
	taskChanged               // changed in each reading
)

func sourcesOf(a *Aggregator, p *processAccount) (out []taskSource) {
	for _, scheduler := range p.Target.Runtimes().Schedulers() {
		out = append(out, &goroutines{Scheduler: scheduler, stacks: a.stacks, process: p})
	}
	for _, n := range p.Target.Runtimes().FrameSources() {
		if lister, is := n.(managed.Threads); is {
			out = append(out, &coroutines{lister: lister, source: n, stacks: a.stacks, process: p, places: map[uint64]int{}})
		}
	}
	return out
}

type goroutines struct {
	managed.Scheduler
	stacks  *stackBuilder
	process *processAccount
	labels  map[uint64]string // by address, of one Poll
}

func (g *goroutines) batchSize() int               { return 1 << 12 }
func (g *goroutines) task() string                 { return languages.GoroutineTask }
func (g *goroutines) totals(t *totals) *taskTotals { return &t.goroutines }

func (g *goroutines) sameRuntime(other taskSource) bool {
	o, is := other.(*goroutines)
	return is && o.Scheduler == g.Scheduler
}

// Poll implements [taskSource].
func (g *goroutines) Poll(from, to int, changed []int) []int {
	g.labels = map[uint64]string{}
	return g.Scheduler.Poll(from, to, changed)
}

func (g *goroutines) readTask(place int) (taskOutcome, taskKind, frames.StopReason) {
	var t managed.ParkedTask
	stack, ok := g.Task(place, &t)
	switch {
	case !ok:
		return taskChanged, taskKind{}, 0
	case t.OnThread || t.System:
		return taskNotParked, taskKind{}, 0
	}
	stop, beyond := g.stacks.walkTask(g.process, &t, stack)
	if beyond && !g.Again(&t) {
		return taskChanged, taskKind{}, 0
	}
	labels, known := g.labels[t.LabelsAt]
	if !known {
		labels = profile.LabelText(g.LabelsAt(t.LabelsAt))
		g.labels[t.LabelsAt] = labels
	}
	return taskWaits, taskKind{t.Entry, cmp.Or(t.Wait, t.Status), labels}, stop
}

// walkTask fills b.stack with a parked task's frames. beyond: it read more than the copy, so the stack is true only if
// the task has not run since.
func (b *stackBuilder) walkTask(p *processAccount, t *managed.ParkedTask, stack []byte) (
	stop frames.StopReason, beyond bool,
) {
	m := &b.taskMemory
	m.Begin(frames.Region{Addr: t.Regs.SP(), Bytes: stack}, t.StackHi, p.Target.Read)
	stop = b.walkTaskIn(p, t, &m.Snapshot)
	if stop != frames.StopBadMemory {
		return stop, false
	}
	return b.walkTaskIn(p, t, m), true
}

func (b *stackBuilder) walkTaskIn(p *processAccount, t *managed.ParkedTask, mem frames.Memory) frames.StopReason {
	b.stack = b.stack[:0]
	w := &b.walker
	for w.Init(p.Target.Space(), &t.Regs, mem); w.Next(); {
		f := w.Frame()
		b.stack = append(b.stack, b.location(p, f.Module, f.LookupPC(t.Regs.Arch), false))
	}
	return w.StopReason()
}

// coroutines are an event loop's tasks.
type coroutines struct {
	lister  managed.Threads
	source  managed.FrameSource
	stacks  *stackBuilder
	process *processAccount
	watch   *process.ThreadWatch
	places  map[uint64]int // by task
	at      []uint64       // by place; 0: none or ended
	last    []managed.Task
	ran     []bool // by place: changed in each reading
	free    []int
}

const mostCoroutines = managed.MostTasks

func (c *coroutines) batchSize() int               { return 1 << 4 }
func (c *coroutines) task() string                 { return languages.CoroutineTask }
func (c *coroutines) totals(t *totals) *taskTotals { return &t.coroutines }

func (c *coroutines) sameRuntime(other taskSource) bool {
	o, is := other.(*coroutines)
	return is && o.lister == c.lister
}

// Places implements [taskSource]. It reuses places of ended tasks.
func (c *coroutines) Places() (int, error) {
	now := c.lister.TaskPlaces()
	living := make(map[uint64]bool, len(now))
	for _, at := range now {
		living[at] = true
	}
	for at, i := range c.places {
		if !living[at] {
			delete(c.places, at)
			c.at[i] = 0
			c.free = append(c.free, i)
		}
	}
	for _, at := range now {
		if _, known := c.places[at]; known || at == 0 || len(c.places) >= mostCoroutines {
			continue
		}
		if len(c.free) == 0 {
			c.free = append(c.free, len(c.at))
			c.at, c.last, c.ran = append(c.at, 0), append(c.last, managed.Task{}), append(c.ran, false)
		}
		i := c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
		c.at[i], c.places[at] = at, i
	}
	return len(c.at), nil
}

// Poll implements [taskSource]. A task is unchanged if it waits at the same place for the same object.
func (c *coroutines) Poll(from, to int, changed []int) []int {
	c.watch = c.process.Target.WatchThreads()
	defer c.watch.Close()
	for i := from; i < min(to, len(c.at)); i++ {
		var t managed.Task
		ok := true
		if c.at[i] != 0 {
			t, ok = c.lister.TaskAt(c.at[i], c.watch)
		}
		was := &c.last[i]
		c.ran[i] = !ok
		if !ok || t.State != was.State || t.Name != was.Name || t.Awaits != was.Awaits ||
			!slices.Equal(t.Frames, was.Frames) {
			*was = t
			changed = append(changed, i)
		}
	}
	return changed
}

func (c *coroutines) readTask(place int) (taskOutcome, taskKind, frames.StopReason) {
	t := &c.last[place]
	switch {
	case c.ran[place]:
		return taskChanged, taskKind{}, 0
	case len(t.Frames) == 0 || t.State == managed.TaskRunning:
		return taskNotParked, taskKind{}, 0
	}
	if c.process.managed.read == nil {
		c.process.managed = newManagedNames(c.process)
	}
	module := c.stacks.managedModule(c.process, c.source, nil)
	c.stacks.stack = c.stacks.stack[:0]
	for i := range t.Frames {
		f := &t.Frames[i]
		description := c.stacks.builder.InternFrames([]profile.Frame{{
			Name: f.Function, System: profile.SystemNameOfType(f.Function, f.Type), File: f.File,
			Line: f.Line, StartLine: f.StartLine,
		}})
		id := c.stacks.builder.Loc(&profile.Loc{Module: module, FramesID: description})
		c.stacks.stack = append(c.stacks.stack, id)
	}
	return taskWaits, taskKind{entry: t.Frames[len(t.Frames)-1].Function, wait: waitOf(t)}, frames.StopRoot
}

// waitsForLoop is the wait of a task that waits for its event loop only.
const waitsForLoop = "ready"

func waitOf(t *managed.Task) string {
	if t.State == managed.TaskReady {
		return waitsForLoop
	}
	return cmp.Or(t.Wait, "[not known]")
}
