// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"cmp"

	"prywalk/internal/sample"
)

// Options say whose time is attributed.
type Options struct {
	// Selected: only some threads are sampled; the others' time is not attributed.
	Selected bool
	// Children: the time of children that are not sampled is attributed to the process that waits for them.
	Children bool
	// Period is the time that each sample stands for, ns; 0: not known. Sampled: the kernel takes the samples.
	Period  int64
	Sampled bool
}

// Interval is a final piece of time: of a thread, or of a process where Task is 0.
type Interval struct {
	Process sample.ProcessID
	Task    sample.TaskID
	Span
}

// Sink takes what an [Attribution] gives, in the order in which it becomes final.
type Sink interface {
	// Add takes an interval. The pointer is not valid after the call.
	Add(*Interval)
	// TaskDone says that there are no more intervals of a thread: its stack was seen at so many ticks, over so many ns.
	TaskDone(task sample.TaskID, ticks, observed int64)
	// ProcessDone says that there are no more intervals of a process.
	ProcessDone(sample.ProcessID)
}

// Totals are sums over all intervals, in nanoseconds of processor time.
type Totals struct {
	Target int64 // what the kernel has charged to the processes
	// Estimated is what threads that have ended used, attributed to the stacks of samples of others like them.
	Estimated int64
}

// Attribution turns events into intervals. It is arithmetic alone: the same events and the same answers of [Relatives]
// give the same intervals. It is not safe for concurrent use.
type Attribution struct {
	opts   Options
	sink   Sink
	gaps   Gaps
	totals Totals
	tasks  map[sample.TaskID]*task
	procs  map[sample.ProcessID]*process

	family   *Family // nil: children's time is not attributed
	byMember map[*Member]*process

	out  Interval // what emit gives next
	emit func(Span)
}

// task is the account of one thread.
type task struct {
	id   sample.TaskID
	proc *process
	book Thread
}

// process is the account of one process.
type process struct {
	id        sample.ProcessID
	book      Process
	fromStart bool
	closed    bool
	member    *Member // nil: what its children used is not attributed
	// waiter gets what is unseen of it and of its children; nil: it does itself.
	waiter *process
}

// New makes an attribution without processes.
func New(o Options, kernel Relatives, sink Sink) *Attribution {
	a := &Attribution{opts: o, sink: sink, tasks: map[sample.TaskID]*task{}, procs: map[sample.ProcessID]*process{}}
	if o.Children && !o.Selected {
		a.family, a.byMember = NewFamily(kernel), map[*Member]*process{}
	} else {
		a.opts.Period, a.opts.Sampled = 0, false
	}
	a.emit = func(s Span) {
		a.out.Span = s
		sink.Add(&a.out)
	}
	return a
}

// Totals gives the sums so far.
func (a *Attribution) Totals() Totals { return a.totals }

// Handle attributes the time of one event.
func (a *Attribution) Handle(event Event) {
	switch e := event.(type) {
	case *ProcessStarted:
		a.begin(e)
	case *Observed:
		a.observed(e)
	case *FoundRunning:
		if t := a.task(e.Task, e.Process, e.BornAt); !t.book.Begun() {
			t.book.BeginAt(e.Now)
		}
	case *FoundUnchanged:
		if t := a.tasks[e.Task]; t != nil {
			a.extend(t, e.Before)
		}
	case *TaskEnded:
		a.endTask(e)
	case *ProcessEnded:
		a.endProcess(e)
	case *EndedSoFar:
		p := a.process(e.Process)
		p.book.ExitedSoFar(e.Length, e.At, a.ofProcess(p))
	case *Claimed:
		if p := a.process(e.Process); e.OfChild {
			p.book.ClaimOfChild(e.Seen, e.At, e.Length)
		} else {
			p.book.Claim(e.Seen, e.At, e.Length)
		}
	case *ChildCounted:
		a.process(e.Process).book.ChildCounted(e.Program, e.Length, e.Ended, e.Exact)
	case *NotObservedFor:
		a.gaps.Add(e.At, e.Length)
	case *Cut:
		a.cut(e.Task)
	case *Tick:
		if a.family != nil {
			a.family.Tick(e.At)
		}
	}
}

// task gives the account of a thread, and makes it for the first event.
func (a *Attribution) task(id sample.TaskID, of sample.ProcessID, bornAt int64) *task {
	t := a.tasks[id]
	if t == nil {
		t = &task{id: id, proc: a.process(of)}
		t.book.BornAt = bornAt
		a.tasks[id] = t
	}
	return t
}

// process gives the account of a process, and makes it for the first event.
func (a *Attribution) process(id sample.ProcessID) *process {
	p := a.procs[id]
	if p == nil {
		p = &process{id: id}
		p.book.Selected, p.book.Sampled = a.opts.Selected, a.opts.Sampled
		a.procs[id] = p
	}
	return p
}

// of gives the function that emits spans of a thread.
func (a *Attribution) of(t *task) func(Span) {
	a.out.Process, a.out.Task = t.proc.id, t.id
	return a.emit
}

// ofProcess gives the function that emits spans of a process and of no thread in particular. Spans without a synthetic
// frame are under the stacks of samples of other threads.
func (a *Attribution) ofProcess(p *process) func(Span) {
	return func(s Span) {
		if s.Leaf == "" {
			a.totals.Estimated += s.CPU
		}
		a.out.Process, a.out.Task = p.id, 0
		a.emit(s)
	}
}

// begin begins the account of a process.
func (a *Attribution) begin(e *ProcessStarted) {
	p := a.process(e.Process)
	p.book.Since, p.fromStart = e.Since, e.FromStart
	if a.family != nil {
		p.member = a.family.Join(e.PID, e.Start, e.Parent, e.FromStart || e.Childless,
			func(ns, at int64, last bool) { a.children(p, ns, at, last) })
		a.byMember[p.member] = p
	}
}

// observed attributes the interval that a sample ends.
func (a *Attribution) observed(e *Observed) {
	t := a.task(e.Task, e.Process, e.BornAt)
	if !t.book.Begun() {
		t.book.Begin(e.At)
	}
	emit := a.of(t)
	t.book.LeftAlone(&e.Left, a.gaps, emit)
	t.book.Add(&e.Look, a.gaps, emit)
}

// extend attributes the time up to the last tick at which a thread was unchanged.
func (a *Attribution) extend(t *task, u sample.Unchanged) {
	emit := a.of(t)
	t.book.Decide(a.gaps, emit)
	t.book.Extend(u, a.gaps, emit)
}

// cut books what is open of a thread; of all threads if there is no number.
func (a *Attribution) cut(id sample.TaskID) {
	if id == 0 {
		for _, t := range a.tasks {
			t.book.Cut(a.gaps, a.of(t))
		}
	} else if t := a.tasks[id]; t != nil && t.book.Begun() {
		t.book.Cut(a.gaps, a.of(t))
	}
}

// endTask ends the account of a thread.
func (a *Attribution) endTask(e *TaskEnded) {
	t := a.task(e.Task, e.Process, e.BornAt)
	emit := a.of(t)
	if !e.End.Alive {
		t.proc.book.Decide(&t.book, a.gaps, emit)
	}
	a.extend(t, e.Before)
	t.book.LeftAlone(&e.Left, a.gaps, emit)
	t.proc.book.EndThread(&t.book, &e.End, emit)
	a.finish(t)
}

// finish attributes what is left of a thread.
func (a *Attribution) finish(t *task) {
	if t.book.Begun() {
		t.proc.book.FinishThread(&t.book, a.gaps, a.of(t))
		a.sink.TaskDone(t.id, t.book.Looks, t.book.Observed())
	}
	delete(a.tasks, t.id)
}

// unknownProgram stands for the name of a program that has none.
const unknownProgram = "?"

// endProcess ends the account of a process: the processor time is attributed that belongs to no sample.
func (a *Attribution) endProcess(e *ProcessEnded) {
	p := a.process(e.Process)
	if p.closed {
		return
	}
	p.closed = true
	if a.opts.Selected {
		// The last samples of its threads may be later than the last reading of its clock.
		a.totals.Target += max(e.Charged, p.book.Used())
	} else {
		a.exited(p, e)
	}
	if p.member == nil {
		a.done(p)
	}
}

// exited attributes the processor time of a process that belongs to no sample, or passes it to the process that waited
// for it.
func (a *Attribution) exited(p *process, e *ProcessEnded) {
	unseen := p.book.Unseen(e.Ended)
	a.totals.Target += p.book.Used() + unseen
	to, program := a.waiterOf(p), cmp.Or(e.Program, unknownProgram)
	// Its last moments are in its parent's growth.
	if more := e.Counted - p.book.Used() - unseen; to != nil && more > 0 {
		to.book.ChildCounted(program, more, true, true)
	}
	if to != nil && p.book.PassTo(&to.book, unseen, a.opts.Period, program) {
		p.waiter = to
	} else {
		p.book.Exited(unseen, e.At, a.ofProcess(p))
	}
	if p.member != nil {
		a.family.Leave(p.member, e.Before+p.book.Used()+unseen, e.At)
	}
}

// done forgets a process.
func (a *Attribution) done(p *process) {
	delete(a.procs, p.id)
	a.sink.ProcessDone(p.id)
}

// waiterOf gives the process that gets the time of a child: samples of others of its children have a claim on it. nil:
// its time stays its own.
func (a *Attribution) waiterOf(p *process) *process {
	if a.opts.Period == 0 || p.member == nil || !p.fromStart {
		return nil
	}
	return a.byMember[p.member.Parent()]
}

// passedTo gives the process that gets what children of another one used; nil if that one does so itself. It may have
// become another's child since, and the account of the one before is closed: what came there now would be lost.
func (a *Attribution) passedTo(p *process) *process {
	if to := p.waiter; to != nil && a.byMember[to.member] == to {
		return to
	}
	return nil
}

// children attributes what unobserved children of a process used. last: no more of it is to come.
func (a *Attribution) children(p *process, ns, now int64, last bool) {
	a.totals.Target += ns
	emit := a.ofProcess(p)
	if !last {
		p.book.ChildrenSoFar(ns, now, emit)
		return
	}
	delete(a.byMember, p.member)
	if to := a.passedTo(p); to != nil {
		p.book.PassChildrenTo(&to.book, ns)
	} else {
		p.book.Children(ns, now, emit)
	}
	a.done(p)
}

// Open gives what goes on as far as it has come. The accounts stay as they are.
func (a *Attribution) Open(yield func(*Interval) bool) {
	for _, t := range a.tasks {
		more := true
		t.book.Open(func(s Span) {
			more = more && yield(&Interval{Process: t.proc.id, Task: t.id, Span: s})
		})
		if !more {
			return
		}
	}
}

// Close attributes all that is open: nothing, unless the engine broke down.
func (a *Attribution) Close(now int64) {
	for _, t := range a.tasks {
		a.finish(t)
	}
	for id, p := range a.procs {
		if !p.closed {
			a.endProcess(&ProcessEnded{Process: id, At: now})
		}
	}
	if a.family != nil {
		a.family.Close()
	}
}
