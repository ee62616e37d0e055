// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"cmp"

	"prywalk/internal/base/sample"
)

// Scope selects the time that is attributed. StandsFor and SampledFromStart count only with Children and without
// ThreadsFiltered.
type Scope struct {
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
	opts    Scope
	sink    Sink
	gaps    Gaps
	totals  Totals
	threads map[sample.ThreadID]*threadAccount
	procs   map[sample.ProcessID]*processAccount

	tree   *cutimeTree                     // nil if children's time is not attributed
	byNode map[*cutimeNode]*processAccount // processes whose account in tree is open

	out Interval
}

// New returns an attribution without processes.
func New(o Scope, kernel ProcSource, sink Sink) *Attribution {
	a := &Attribution{
		opts: o, sink: sink, threads: map[sample.ThreadID]*threadAccount{},
		procs: map[sample.ProcessID]*processAccount{},
	}
	if o.Children && !o.ThreadsFiltered {
		a.tree, a.byNode = newCutimeTree(kernel), map[*cutimeNode]*processAccount{}
	} else {
		a.opts.StandsFor, a.opts.SampledFromStart = 0, false
	}
	return a
}

// Totals returns the sums so far.
func (a *Attribution) Totals() Totals { return a.totals }

// Apply attributes the time of one event.
func (a *Attribution) Apply(event Event) { event.apply(a) }

func (a *Attribution) thread(id sample.ThreadID, processID sample.ProcessID, createdAt int64) *threadAccount {
	if known := a.threads[id]; known != nil {
		return known
	}
	t := &threadAccount{id: id, proc: a.process(processID)}
	t.createdAt, t.gaps = createdAt, &a.gaps
	t.ledger.Emit = func(s Span) { a.add(t.proc.id, t.id, s) }
	a.threads[id] = t
	return t
}

func (a *Attribution) process(id sample.ProcessID) *processAccount {
	if known := a.procs[id]; known != nil {
		return known
	}
	p := &processAccount{id: id}
	p.threadsFiltered, p.sampledFromStart = a.opts.ThreadsFiltered, a.opts.SampledFromStart
	p.emit = func(s Span) {
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
	p.since, p.fromStart = e.Since, e.FromStart
	if a.tree != nil {
		p.node = a.tree.join(e.PID, e.Start, e.Parent, e.FromStart || e.ChildrenFromStart,
			func(ns, at int64, when distribution) { a.distributeChildren(p, ns, at, when) })
		a.byNode[p.node] = p
	}
}

func (a *Attribution) attributeSampled(e *Sampled) {
	t := a.thread(e.Thread, e.Process, e.CreatedAt)
	if !t.begun {
		t.begin(e.At)
	}
	s := e.Sample
	if e.NotStopped.Suppressed() { // the unchanged ticks' clocks are older than those in NotStopped
		t.extend(s.UnchangedBefore)
		s.UnchangedBefore = sample.Unchanged{}
	}
	t.attributeNotStopped(&e.NotStopped)
	t.add(&s)
}

func (a *Attribution) cutOpen(id sample.ThreadID) {
	if id == 0 {
		for _, t := range a.threads {
			t.cut()
		}
	} else if t := a.threads[id]; t != nil {
		t.cut()
	}
}

func (a *Attribution) endThread(e *ThreadEnded) {
	t := a.thread(e.Thread, e.Process, e.CreatedAt)
	t.extend(e.UnchangedBefore)
	t.attributeNotStopped(&e.NotStopped)
	t.proc.endThread(t, &e.End)
	a.finishThread(t)
}

func (a *Attribution) finishThread(t *threadAccount) {
	if t.begun {
		t.proc.finishThread(t)
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
		a.totals.Target += max(e.Charged, p.attributed)
	} else {
		a.attributeExited(p, e)
	}
	if p.node == nil {
		a.closeProcess(p)
	}
}

func (a *Attribution) attributeExited(p *processAccount, e *ProcessEnded) {
	unobserved := p.unobserved(e.EndedThreads)
	a.totals.Target += p.attributed + unobserved
	parent, program := a.observedParent(p), cmp.Or(e.Program, UnknownProgram)
	if parent != nil && p.passUnobservedTo(parent, unobserved, a.opts.StandsFor, program) {
		p.passedTo = parent
	} else {
		p.distributeExited(unobserved, e.At)
	}
	if p.node != nil {
		a.tree.leave(p.node, e.CPUBefore+p.attributed+unobserved, e.At)
	}
}

func (a *Attribution) closeProcess(p *processAccount) {
	delete(a.procs, p.id)
	a.sink.ProcessDone(p.id)
}

func (a *Attribution) observedParent(p *processAccount) *processAccount {
	if a.opts.StandsFor == 0 || p.node == nil || !p.fromStart {
		return nil
	}
	return a.byNode[p.node.parent]
}

func (a *Attribution) recipient(p *processAccount) *processAccount {
	if parent := p.passedTo; parent != nil && a.byNode[parent.node] == parent {
		return parent
	}
	return nil
}

func (a *Attribution) distributeChildren(p *processAccount, ns, now int64, when distribution) {
	a.totals.Target += ns
	if when == soFar {
		p.distributeChildrenSoFar(ns, now)
		return
	}
	delete(a.byNode, p.node)
	if parent := a.recipient(p); parent != nil {
		p.passChildrenTo(parent, ns)
	} else {
		p.distributeChildren(ns, now)
	}
	a.closeProcess(p)
}

// AttributeOverdue attributes carried CPU time that has waited too long.
func (a *Attribution) AttributeOverdue() {
	for _, t := range a.threads {
		t.ledger.AttributeOverdue()
	}
}

// OpenIntervals yields the open intervals so far.
func (a *Attribution) OpenIntervals(yield func(*Interval) bool) {
	for _, t := range a.threads {
		more := true
		t.ledger.EmitOpen(func(s Span) {
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
		t.eachStack(f)
	}
	for _, p := range a.procs {
		for _, w := range []*weightedSamples{&p.threads.samples, &p.children.samples} {
			for k := range w.byPlace {
				f(k.place.Stack)
			}
		}
	}
}

func (t *threadAccount) eachStack(f func(sample.StackID)) {
	for i := range t.weights {
		f(t.weights[i].place.Stack)
	}
	l := &t.ledger
	for i := range l.pending.list {
		f(l.pending.list[i].stack)
	}
	f(l.sleep.span.Stack)
	f(l.lastRunning.Stack)
	f(l.lastOnCPU.Stack)
	f(l.kernel.call.Stack)
}
