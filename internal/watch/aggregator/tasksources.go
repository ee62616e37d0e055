// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"
	"slices"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/managed"
)

// taskRuntime is a runtime with tasks.
type taskRuntime struct {
	source    taskSource
	id        any    // of the runtime
	batchSize int    // the most places of one Poll
	label     string // value of the recording's label task
	totals    *taskTotals
}

// every is the mean time between two readings of a task.
func (r *taskRuntime) every() time.Duration {
	if r.label == languages.VirtualThreadTask {
		return pollVirtualEvery
	}
	return pollEvery
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
	for _, scheduler := range p.process.Code.Runtimes().Schedulers() {
		source := &goroutines{Scheduler: scheduler, stacks: a.stacks, process: p, lockTexts: map[string]bool{},
			ends: map[string]bool{}}
		out = append(out, taskRuntime{source, scheduler, 1 << 12, languages.GoroutineTask, &a.out.totals.goroutines})
	}
	for _, n := range p.process.Code.Runtimes().FrameSources() {
		if lister, is := n.(managed.Threads); is && !a.opts.OnlyGoroutines {
			source := &coroutines{
				lister: lister, source: n, stacks: a.stacks, process: p, places: map[uint64]int{},
				awaiters: map[uint64]awaiters{},
			}
			r := taskRuntime{source, lister, 1 << 4, languages.CoroutineTask, &a.out.totals.coroutines}
			language := languages.OfSystem(lister.Name())
			if source.virtual = language != nil && language.Unthreaded == languages.VirtualThreads; source.virtual {
				r.batchSize, r.label = 1<<7, languages.VirtualThreadTask
			}
			out = append(out, r)
		}
	}
	return out
}

type goroutines struct {
	managed.Scheduler
	stacks  *stackBuilder
	process *processState
	labels  map[uint64]string // by address, of one Poll
	ends    map[string]bool   // the other ends of descriptors

	lockTexts map[string]bool
	awaited   map[frames.Addr]bool // locks for which goroutines waited
	// locksSince is the time of the first reading; lockCPU the CPU time of all readings.
	locksSince monotonic.Moment
	lockCPU    time.Duration
}

const maxEnds = 1 << 12

// Poll implements [taskSource].
func (g *goroutines) Poll(from, to int, changed []int) []int {
	g.labels = map[uint64]string{}
	return g.Scheduler.Poll(from, to, changed)
}

// otherEnd describes the file for which a goroutine waits. end is its description, with the server where that is known;
// unnamed is the file's link if newer lists may show the other end. Clients are not named: there are as many as
// connections.
func (g *goroutines) otherEnd(t *managed.TaskRecord, stack []byte) (end, unnamed string) {
	w := g.process.waitState
	fd, ok := g.Polled(t, stack)
	if w == nil || !ok {
		return "", ""
	}
	link := w.files.Link(fd)
	w.peers.Of(w.files, link, procmem.Now)
	if link == "" || w.peers.IsServed(link) {
		return "", ""
	}
	end = w.describe(fd, link, true)
	_, later := w.unnamed[link]
	switch isNamed := end != link; {
	case !isNamed && !later, isNamed && len(g.ends) >= maxEnds && !g.ends[end], !g.Reread(t):
		return "", ""
	case !isNamed:
		return "", link
	}
	g.ends[end] = true
	return end, ""
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
	waitsFor, unnamed := g.otherEnd(&t, stack)
	end, beyond := g.stacks.walkTask(g.process, &t, stack)
	locks := g.bounded(g.lockLabels(&t, stack))
	if (beyond || locks != "") && !g.Reread(&t) {
		return taskChanged, taskKind{}, 0
	}
	labels, known := g.labels[t.LabelsAt]
	if !known {
		labels = profile.WithoutChainLabels(profile.LabelText(g.LabelsAt(t.LabelsAt)))
		g.labels[t.LabelsAt] = labels
	}
	return taskWaits, taskKind{firstFunction: t.Entry, wait: cmp.Or(t.Wait, t.Status), waitsFor: waitsFor,
		unnamed: unnamed, labels: labels + locks}, end
}

type coroutines struct {
	lister  managed.Threads
	virtual bool // they are virtual threads
	source  managed.FrameSource
	stacks  *stackBuilder
	process *processState
	now     []uint64        // the last list
	places  map[uint64]int  // by task's address
	slots   []coroutineSlot // by place
	free    []int
	// awaiters are of the task at an address; links is their number.
	awaiters map[uint64]awaiters
	links    int
}

// awaiters are n tasks; all is the exclusive or of their addresses.
type awaiters struct {
	n   int
	all uint64
}

type coroutineSlot struct {
	task  uint64 // address; 0 means none, or it has ended
	last  managed.Task
	stack []managed.Frame // of last and its awaiters
	ran   bool            // changed in each reading
}

const (
	maxCoroutines = managed.MostTasks
	maxBatched    = 1 << 17
	maxLinks      = 2 * maxCoroutines
	maxTaskFrames = 256 // of a task and its awaiters
	maxReadFirst  = 100 // new tasks of a round, read before all others, with what each awaits
)

// Places implements [taskSource]. It reuses places of ended tasks.
func (c *coroutines) Places() (int, error) {
	now := c.lister.TaskPlaces()
	if len(now) > 0 && slices.Equal(now, c.now) {
		return len(c.slots), nil
	}
	c.now = now
	c.freeEnded(now)
	var first []int
	for _, task := range now {
		if _, known := c.places[task]; !known && task != 0 && len(c.places) < c.most() {
			i := c.freePlace()
			c.slots[i], c.places[task] = coroutineSlot{task: task}, i
			first = append(first, i)
		}
	}
	if !c.virtual {
		c.readFirst(first[:min(len(first), maxReadFirst)])
	}
	return len(c.slots), nil
}

// most bounds the tasks: of virtual threads, equal stacks are in memory once.
func (c *coroutines) most() int {
	if c.virtual {
		return maxBatched
	}
	return maxCoroutines
}

func (c *coroutines) readFirst(places []int) {
	tasks := make([]uint64, len(places))
	for i, place := range places {
		tasks[i] = c.slots[place].task
	}
	read := c.read(tasks)
	for _, i := range places {
		if r := read[c.slots[i].task]; r.ok {
			c.rememberTask(&c.slots[i], r.task)
		}
	}
}

func (c *coroutines) freeEnded(now []uint64) {
	living := make(map[uint64]bool, len(now))
	for _, task := range now {
		living[task] = true
	}
	for task, i := range c.places {
		if !living[task] {
			delete(c.places, task)
			c.rememberTask(&c.slots[i], managed.Task{})
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

// rememberTask sets the task's last state.
func (c *coroutines) rememberTask(s *coroutineSlot, t managed.Task) {
	for _, at := range s.last.AwaitsAt {
		c.link(at, s.task, -1)
	}
	if c.links+len(t.AwaitsAt) > maxLinks {
		t.AwaitsAt = nil
	}
	for _, at := range t.AwaitsAt {
		c.link(at, s.task, 1)
	}
	s.last = t
}

func (c *coroutines) link(task, by uint64, n int) {
	a := c.awaiters[task]
	a.n, a.all, c.links = a.n+n, a.all^by, c.links+n
	if c.awaiters[task] = a; a.n == 0 {
		delete(c.awaiters, task)
	}
}

// stackOf returns the task's frames and, outside of them, those of the tasks that await it, up to one that none or
// several await.
func (c *coroutines) stackOf(s *coroutineSlot) []managed.Frame {
	stack, in := slices.Clip(s.last.Frames), []*coroutineSlot{s}
	for {
		at, known := c.places[c.soleAwaiter(s)]
		if !known || slices.Contains(in, &c.slots[at]) {
			return stack
		}
		s = &c.slots[at]
		if n := len(s.last.Frames); n == 0 || len(stack)+n > maxTaskFrames {
			return stack
		}
		stack, in = append(stack, s.last.Frames...), append(in, s)
	}
}

// soleAwaiter returns 0 unless one task awaits it.
func (c *coroutines) soleAwaiter(s *coroutineSlot) uint64 {
	a := c.awaiters[s.task]
	switch by := s.last.AwaitedBy; {
	case len(by) == 1:
		return by[0]
	case len(by) == 0 && a.n == 1:
		return a.all
	}
	return 0
}

// Poll implements [taskSource]. A task is unchanged if it and its awaiters wait at the same place for the same object.
func (c *coroutines) Poll(from, to int, changed []int) []int {
	slots := c.slots[from:min(to, len(c.slots))]
	var tasks []uint64
	for i := range slots {
		if slots[i].task != 0 {
			tasks = append(tasks, slots[i].task)
		}
	}
	read := c.read(c.lister.ChangedTasks(tasks))
	for i := from; i < from+len(slots); i++ {
		s := &c.slots[i]
		r, needed := read[s.task]
		if !needed && s.task != 0 {
			continue
		}
		t, ok := r.task, r.ok || s.task == 0
		was := s.last
		c.rememberTask(s, t)
		s.ran = !ok
		stack := c.stackOf(s)
		if !ok || t.State != was.State || t.Name != was.Name || t.Awaits != was.Awaits || t.Reads != was.Reads ||
			!slices.Equal(t.AwaitsTasks, was.AwaitsTasks) || !slices.Equal(stack, s.stack) {
			s.stack = stack
			changed = append(changed, i)
		}
	}
	return changed
}

type coroutineRead struct {
	task managed.Task
	ok   bool
}

func (c *coroutines) read(tasks []uint64) map[uint64]coroutineRead {
	out := make(map[uint64]coroutineRead, len(tasks))
	for _, task := range tasks {
		out[task] = coroutineRead{}
	}
	watch := c.process.process.Code.WatchThreads()
	defer watch.Close()
	c.lister.TasksAt(tasks, watch, func(place uint64, t managed.Task, ok bool) { out[place] = coroutineRead{t, ok} })
	return out
}

func (c *coroutines) readTask(place int) (taskOutcome, taskKind, frames.StopReason) {
	t := &c.slots[place].last
	switch {
	case c.slots[place].ran:
		return taskChanged, taskKind{}, 0
	case len(t.Frames) == 0 || t.State == managed.TaskRunning:
		return taskNotParked, taskKind{}, 0
	}
	module := c.stacks.managedModule(c.process, c.source, nil)
	c.stacks.beginStack()
	stack := c.slots[place].stack
	for i := range stack {
		description := c.stacks.builder.InternFrames([]profile.Frame{profileFrame(&stack[i])})
		id := c.stacks.builder.Loc(&profile.Loc{Module: module, FramesID: description})
		c.stacks.stack = append(c.stacks.stack, id)
	}
	wait := cmp.Or(t.Wait, "[not known]")
	if t.State == managed.TaskReady {
		wait = "ready" // it waits for the loop
	}
	kind := taskKind{firstFunction: cmp.Or(t.Entry, t.Frames[len(t.Frames)-1].Function), wait: wait}
	switch {
	case t.Family == languages.GreenletTask || t.Family == languages.FiberTask:
		kind.task = t.Family
	case !c.virtual:
		labels := map[string]string{profile.LabelTaskName: t.Name}
		if len(t.AwaitsTasks) == 1 {
			labels[profile.LabelAwaits] = t.AwaitsTasks[0]
		}
		kind.labels = profile.LabelText(labels)
		if w := c.process.waitState; t.Reads != 0 && w != nil {
			kind.waitsFor = w.describe(t.Reads, w.files.Link(t.Reads), false)
		}
	}
	return taskWaits, kind, frames.StopRoot
}
