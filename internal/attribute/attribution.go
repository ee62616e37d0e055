// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"cmp"

	"prywalk/internal/sample"
)

// Options select the time that is attributed. StandsFor and SampledFromStart count only with Children and without
// ThreadsFiltered.
type Options struct {
	ThreadsFiltered bool // other threads' time is not attributed
	Children        bool
	StandsFor       int64 `json:"Period"` // ns, T in the package comment; 0: unknown
	// SampledFromStart: the kernel samples each thread from its first instruction on.
	SampledFromStart bool `json:"KernelSamples"`
}

// Interval is a final piece of time of a thread, or of a process (Thread 0).
type Interval struct {
	Process sample.ProcessID
	Thread  sample.ThreadID
	Span
}

// Sink takes final results.
type Sink interface {
	// Add must not keep the pointer.
	Add(*Interval)
	// ThreadDone ends the intervals of a thread with ticks samples of a known stack, within observed ns.
	ThreadDone(id sample.ThreadID, ticks, observed int64)
	// ProcessDone ends the intervals of a process.
	ProcessDone(sample.ProcessID)
}

// Totals are sums over all intervals, CPU time in ns.
type Totals struct {
	Target    int64 // charged by the kernel to the processes
	Estimated int64
}

// Attribution turns events, and answers of [ProcSource], into intervals. Not safe for concurrent use.
type Attribution struct {
	opts    Options
	sink    Sink
	gaps    Gaps
	totals  Totals
	threads map[sample.ThreadID]*accountedThread
	procs   map[sample.ProcessID]*accountedProcess

	tree   *cutimeTree                       // nil: children's time is not attributed
	byNode map[*cutimeNode]*accountedProcess // those whose account in tree is open

	out Interval
}

type accountedThread struct {
	id      sample.ThreadID
	proc    *accountedProcess
	account threadAccount
}

type accountedProcess struct {
	id        sample.ProcessID
	account   processAccount
	fromStart bool
	ended     bool
	node      *cutimeNode // nil: none
	passedTo  *accountedProcess
}

// New returns an attribution without processes.
func New(o Options, kernel ProcSource, sink Sink) *Attribution {
	a := &Attribution{
		opts: o, sink: sink, threads: map[sample.ThreadID]*accountedThread{},
		procs: map[sample.ProcessID]*accountedProcess{},
	}
	if o.Children && !o.ThreadsFiltered {
		a.tree, a.byNode = newCutimeTree(kernel), map[*cutimeNode]*accountedProcess{}
	} else {
		a.opts.StandsFor, a.opts.SampledFromStart = 0, false
	}
	return a
}

// Totals returns the sums so far.
func (a *Attribution) Totals() Totals { return a.totals }

// Apply attributes the time of one event.
func (a *Attribution) Apply(event Event) { event.apply(a) }

func (a *Attribution) thread(id sample.ThreadID, processID sample.ProcessID, createdAt int64) *accountedThread {
	if known := a.threads[id]; known != nil {
		return known
	}
	t := &accountedThread{id: id, proc: a.process(processID)}
	t.account.createdAt, t.account.gaps = createdAt, &a.gaps
	t.account.ledger.Emit = func(s Span) { a.add(t.proc.id, t.id, s) }
	a.threads[id] = t
	return t
}

func (a *Attribution) process(id sample.ProcessID) *accountedProcess {
	if known := a.procs[id]; known != nil {
		return known
	}
	p := &accountedProcess{id: id}
	p.account.threadsFiltered, p.account.sampledFromStart = a.opts.ThreadsFiltered, a.opts.SampledFromStart
	p.account.emit = func(s Span) {
		if s.Leaf == "" {
			a.totals.Estimated += s.CPU
		}
		a.add(p.id, 0, s)
	}
	a.procs[id] = p
	return p
}

func (a *Attribution) add(process sample.ProcessID, thread sample.ThreadID, s Span) {
	a.out = Interval{process, thread, s}
	a.sink.Add(&a.out)
}

func (a *Attribution) beginProcess(e *ProcessStarted) {
	p := a.process(e.Process)
	p.account.since, p.fromStart = e.Since, e.FromStart
	if a.tree != nil {
		p.node = a.tree.join(e.PID, e.Start, e.Parent, e.FromStart || e.ChildrenFromStart,
			func(ns, at int64, when distribution) { a.distributeChildren(p, ns, at, when) })
		a.byNode[p.node] = p
	}
}

func (a *Attribution) attributeSampled(e *Sampled) {
	t := a.thread(e.Thread, e.Process, e.CreatedAt)
	if !t.account.begun {
		t.account.begin(e.At)
	}
	s := e.Sample
	if e.NotStopped.Suppressed() { // the unchanged ticks' clocks are older than those in NotStopped
		a.extend(t, s.UnchangedBefore)
		s.UnchangedBefore = sample.Unchanged{}
	}
	t.account.attributeNotStopped(&e.NotStopped)
	t.account.add(&s)
}

func (a *Attribution) extend(t *accountedThread, u sample.Unchanged) {
	t.account.attributeDeferred()
	t.account.extend(u)
}

func (a *Attribution) cutOpen(id sample.ThreadID) {
	if id == 0 {
		for _, t := range a.threads {
			t.account.cut()
		}
	} else if t := a.threads[id]; t != nil {
		t.account.cut()
	}
}

func (a *Attribution) endThread(e *ThreadEnded) {
	t := a.thread(e.Thread, e.Process, e.CreatedAt)
	if !e.End.Alive {
		t.proc.account.attributeDeferredOf(&t.account)
	}
	a.extend(t, e.UnchangedBefore)
	t.account.attributeNotStopped(&e.NotStopped)
	t.proc.account.endThread(&t.account, &e.End)
	a.finishThread(t)
}

func (a *Attribution) finishThread(t *accountedThread) {
	if t.account.begun {
		t.proc.account.finishThread(&t.account)
		a.sink.ThreadDone(t.id, t.account.samples, t.account.observedFor())
	}
	delete(a.threads, t.id)
}

// moveAccount follows fs/exec.c, de_thread: the calling task goes on under the first thread's number.
func (a *Attribution) moveAccount(e *Execed) {
	caller := a.threads[e.Caller]
	if caller == nil {
		return
	}
	a.cutOpen(e.Caller)
	delete(a.threads, e.Caller)
	caller.id = e.Thread
	a.threads[e.Thread] = caller
}

// UnknownProgram is the name of an unknown program.
const UnknownProgram = "?"

func (a *Attribution) endProcess(e *ProcessEnded) {
	p := a.process(e.Process)
	if p.ended {
		return
	}
	p.ended = true
	if a.opts.ThreadsFiltered {
		a.totals.Target += max(e.Charged, p.account.attributed)
	} else {
		a.attributeExited(p, e)
	}
	if p.node == nil {
		a.closeProcess(p)
	}
}

func (a *Attribution) attributeExited(p *accountedProcess, e *ProcessEnded) {
	unobserved := p.account.unobserved(e.EndedThreads)
	a.totals.Target += p.account.attributed + unobserved
	parent, program := a.observedParent(p), cmp.Or(e.Program, UnknownProgram)
	// The exit after the threads' last clocks is in the parent's cutime.
	if more := e.BySwitches - p.account.attributed - unobserved; parent != nil && more > 0 {
		parent.account.addCountedChild(&ChildCounted{Program: program, CPU: more, AllCounted: true, ChildEnded: true})
	}
	if parent != nil && p.account.passUnobservedTo(&parent.account, unobserved, a.opts.StandsFor, program) {
		p.passedTo = parent
	} else {
		p.account.distributeExited(unobserved, e.At)
	}
	if p.node != nil {
		a.tree.leave(p.node, e.CPUBefore+p.account.attributed+unobserved, e.At)
	}
}

func (a *Attribution) closeProcess(p *accountedProcess) {
	delete(a.procs, p.id)
	a.sink.ProcessDone(p.id)
}

func (a *Attribution) observedParent(p *accountedProcess) *accountedProcess {
	if a.opts.StandsFor == 0 || p.node == nil || !p.fromStart {
		return nil
	}
	return a.byNode[p.node.parent]
}

func (a *Attribution) recipient(p *accountedProcess) *accountedProcess {
	if parent := p.passedTo; parent != nil && a.byNode[parent.node] == parent {
		return parent
	}
	return nil
}

func (a *Attribution) distributeChildren(p *accountedProcess, ns, now int64, when distribution) {
	a.totals.Target += ns
	if when == soFar {
		p.account.distributeChildrenSoFar(ns, now)
		return
	}
	delete(a.byNode, p.node)
	if parent := a.recipient(p); parent != nil {
		p.account.passChildrenTo(&parent.account, ns)
	} else {
		p.account.distributeChildren(ns, now)
	}
	a.closeProcess(p)
}

// AttributeOverdue attributes carried CPU time that has waited too long.
func (a *Attribution) AttributeOverdue() {
	for _, t := range a.threads {
		t.account.ledger.AttributeOverdue()
	}
}

// OpenIntervals yields the open intervals so far.
func (a *Attribution) OpenIntervals(yield func(*Interval) bool) {
	for _, t := range a.threads {
		more := true
		t.account.ledger.EmitOpen(func(s Span) {
			more = more && yield(&Interval{Process: t.proc.id, Thread: t.id, Span: s})
		})
		if !more {
			return
		}
	}
}

// Close attributes all that is open.
func (a *Attribution) Close(now int64) {
	for _, t := range a.threads {
		a.finishThread(t)
	}
	for id, p := range a.procs {
		if !p.ended {
			a.endProcess(&ProcessEnded{Process: id, At: now})
		}
	}
	if a.tree != nil {
		a.tree.close()
	}
}

// EachStack calls f with the stacks that may take time later, also after a [Cut], some more than once.
func (a *Attribution) EachStack(f func(sample.StackID)) {
	for _, t := range a.threads {
		t.account.eachStack(f)
	}
	for _, p := range a.procs {
		ended := &p.account.threads
		for _, w := range []*weightedSamples{&ended.proven, &ended.unproven, &p.account.children.samples} {
			for k := range w.byPlace {
				f(k.place.Stack)
			}
		}
	}
}

func (t *threadAccount) eachStack(f func(sample.StackID)) {
	for i := range t.deferred {
		f(t.deferred[i].Place.Stack)
	}
	for i := range t.weights {
		f(t.weights[i].place.Stack)
	}
	l := &t.ledger
	for i := range l.pending.list {
		f(l.pending.list[i].stack)
	}
	f(l.sleep.Stack)
	f(l.lastRunning.Stack)
	f(l.lastOnCPU.Stack)
	f(l.kernel.call.Stack)
}
