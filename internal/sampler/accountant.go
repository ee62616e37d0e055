package sampler

import (
	"cmp"

	"prywalk/frames"
	"prywalk/internal/booking"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/symbols"
)

// accountant unwinds what the tracer copied and books the threads' time. It
// belongs to one goroutine.
type accountant struct {
	builder *profile.Builder
	unwind  *unwinder
	pool    *look.Pool
	garbage *ownruntime.Collector
	threads map[*threadAccount]struct{}
	procs   map[*processAccount]struct{}
	close   func(*code.Process)

	gaps     booking.Gaps
	unix     booking.UnixTime
	selected bool // only some threads are wanted: the others' time is not booked
	totals   *totals
	rates    rates

	pub   *published
	save  func(between func())
	watch profile.Watcher // nil: nobody watches
	asked bool            // everything is booked for a checkpoint that is to be written

	family   *booking.Family                     // nil: what children used is not booked
	byMember map[*booking.Member]*processAccount // of those that are not settled
	// the time that each of the kernel's samples stands for, ns; 0: it takes none
	period    int64
	launched  bool           // the first process was launched for the recording: it had no children before
	lockNames *symbols.Namer // nil until a lock is waited for

	cur     *threadAccount // whose spans emit books
	emitOne func(booking.Span)
}

// handle books one event.
func (a *accountant) handle(e *event) {
	switch e.kind {
	case processBegan:
		a.beginProcess(e.proc)
	case looked:
		a.look(e)
	case sampledEnded:
		a.claim(e)
	case childSampled:
		a.claimOfChild(e)
	case seenRunning:
		a.seenRunning(e)
	case unchanged:
		a.extend(e)
	case threadEnded:
		a.endThread(e)
	case processEnded:
		a.endProcess(e.proc, e.used, e.at)
	case renamed:
		a.exec(e)
	case checkpointAsked:
		a.cut()
		a.asked = true
	case refreshAsked:
		a.refresh(e.at)
	case notObserved:
		a.gaps.Add(e.at, e.length)
	case resumed:
		a.cut()
		a.unix.Resumed(e.at, e.length)
	}
}

// saveIfAsked writes a checkpoint that was asked for. A long recording takes seconds to write, in which copies of
// stacks come in: between, which is called again and again meanwhile, is to handle them.
func (a *accountant) saveIfAsked(between func()) {
	for a.asked {
		a.asked = false
		if a.save != nil {
			began := procmem.Now()
			a.save(between)
			a.pub.saveTook.Store(procmem.Now() - began)
		}
		a.pub.saving.Store(a.asked)
	}
}

// beginProcess begins a process's account.
func (a *accountant) beginProcess(p *processAccount) {
	a.procs[p] = struct{}{}
	p.comm = p.target.Comm
	p.nsPID = procmem.InnerID(p.target.PID)
	if a.family != nil {
		fromStart := p.fromStart || a.launched && p.parent == 0
		p.member = a.family.Join(p.target.PID, p.target.StartTime, p.parent, fromStart,
			func(ns, at int64) { a.bookChildren(p, ns, at) })
		a.byMember[p.member] = p
	}
}

// look unwinds a shot and books the interval that it ends.
func (a *accountant) look(e *event) {
	th, s := e.thread, e.shot
	at := booking.ReadAt(s.Sched, s.At)
	if !th.book.Begun() {
		a.open(th)
		th.book.Begin(at)
	}
	id, stop := a.unwind.unwind(th, s)
	a.totals.stack(stop, s.How)
	a.pub.stacks.Store(a.totals.stacks)
	a.pub.whole.Store(a.totals.stops[frames.StopRoot])
	if s.State != look.Running && s.At-th.met < nameEvery {
		th.named = 0 // it may have named itself, and sleep for good now
	}
	a.rename(th, s.At)
	waitsFor, owner := a.explain(th, s, id)
	emit := a.emitter(th)
	th.book.LeftAlone(&s.Left, a.gaps, emit)
	th.book.Add(&booking.Look{
		At: at, Seen: booking.Seen{Stack: id, State: s.State, Wait: s.Wait(), Whole: stop.Complete(), WaitsFor: waitsFor,
			Owner: owner},
		OnCPU: s.OnCPU, Basis: s.Basis, Before: e.before, Apart: e.length,
	}, a.gaps, emit)
	a.pool.Put(s)
	e.shot = nil
}

// rename reads a thread's name, if it is time to. A run-time system reads memory for it.
func (a *accountant) rename(th *threadAccount, now int64) {
	a.unwind.books.lend()
	th.rename(now)
	a.unwind.books.back()
}

// claim unwinds a sample of a thread that has ended, and notes its claim.
func (a *accountant) claim(e *event) {
	th, s := e.thread, e.shot
	if th == nil {
		th = e.proc.stranger()
	}
	id, stop := a.unwind.unwindSample(th, e.ran, s)
	a.totals.stack(stop, s.How)
	e.proc.book.Claim(booking.Seen{Stack: id, State: booking.Running, Whole: stop.Complete()}, s.At, e.length)
	a.pool.Put(s)
	e.shot = nil
}

// claimOfChild unwinds a sample of a child that nobody met, and notes its claim.
func (a *accountant) claimOfChild(e *event) {
	id, stop := a.unwind.unwindSample(e.proc.stranger(), e.ran, e.shot)
	a.totals.stack(stop, e.shot.How)
	name := e.ran.Name
	if e.ran.Of != nil {
		name = e.ran.Of.comm
	}
	e.proc.book.ClaimOfChild(booking.Seen{Stack: id, State: booking.Running, Whole: stop.Complete(),
		Program: orUnknown(name)},
		e.shot.At, e.length)
	a.pool.Put(e.shot)
	e.shot = nil
}

// unknownProgram stands for the name of a program that has none.
const unknownProgram = "?"

func orUnknown(program string) string { return cmp.Or(program, unknownProgram) }

// seenRunning begins the account of a thread of which no stack is known yet.
func (a *accountant) seenRunning(e *event) {
	if th := e.thread; !th.book.Begun() {
		a.open(th)
		th.book.BeginAt(e.now)
	}
}

// open begins a thread's account.
func (a *accountant) open(th *threadAccount) {
	a.threads[th] = struct{}{}
	defer a.met(th)
	if th.proc.nsPID != 0 {
		th.nsTID = procmem.InnerID(th.tid)
	}
}

// extend books the time up to the last tick at which a thread was unchanged.
func (a *accountant) extend(e *event) {
	e.thread.book.Decide(a.gaps, a.emitter(e.thread))
	e.thread.book.Extend(e.before)
}

// endThread ends a thread's account.
func (a *accountant) endThread(e *event) {
	th := e.thread
	emit := a.emitter(th)
	a.extend(e)
	th.book.LeftAlone(&e.end.left, a.gaps, emit)
	if e.end.Alive && !th.book.Begun() { // it could never be looked at
		a.open(th)
	}
	th.proc.book.EndThread(&th.book, &e.end.End, emit)
	a.finish(th)
	delete(a.threads, th)
	th.proc.waits.forget(th)
}

// finish books what is left of a thread.
func (a *accountant) finish(th *threadAccount) {
	if !th.book.Begun() {
		return
	}
	if !th.given { // nothing that can hang is read any more
		th.renameByKernel()
	}
	th.proc.book.FinishThread(&th.book, a.gaps, a.emitter(th))
	a.rates.add(ThreadRate{
		PID: th.proc.target.PID, TID: th.tid, Name: th.name, Looks: th.book.Looks, Seconds: seconds(th.book.Observed()),
	})
}

// exec deals with a process whose first thread has changed its name: what was seen
// before is booked under the old one, and the mappings are read anew.
func (a *accountant) exec(e *event) {
	th := e.thread
	if th.book.Begun() {
		th.book.Cut(a.gaps, a.emitter(th))
	}
	th.named, th.given = 0, false
	th.renameByKernel()
	a.unwind.books.lend()
	e.proc.refresh(e.at)
	a.unwind.books.back()
	e.proc.comm = th.name
	e.proc.waits.execed()
}

// endProcess ends a process's account: it books the processor time that belongs to no
// look, and lets go of the process.
func (a *accountant) endProcess(p *processAccount, end *processEnd, now int64) {
	if p.closed {
		return
	}
	p.closed = true
	delete(a.procs, p)
	if a.selected {
		// The last looks at its threads may be later than the last reading of its clock.
		a.totals.target += max(end.charged, p.book.Used())
	} else {
		unseen := p.book.Unseen(end.ended)
		a.totals.target += p.book.Used() + unseen
		if to := a.waiterOf(p); to != nil && p.book.PassTo(&to.book, unseen, a.period, orUnknown(p.comm)) {
			p.waiter = to
		} else {
			a.bookExited(p, unseen, now)
		}
		if p.member != nil {
			a.family.Leave(p.member, end.before+p.book.Used()+unseen, now)
		}
	}
	a.unwind.forgetModules(p, nil)
	a.close(p.target)
}

// waiterOf gives the process that gets the time of a child, if the kernel samples what runs: samples of children that
// nobody met have a claim on it. nil: its time stays its own.
func (a *accountant) waiterOf(p *processAccount) *processAccount {
	if a.period == 0 || p.member == nil || !p.fromStart {
		return nil
	}
	return a.byMember[p.member.Parent()]
}

// bookExited books the processor time of a process that belongs to no look.
func (a *accountant) bookExited(p *processAccount, unseen, now int64) {
	p.book.Exited(unseen, now, func(s booking.Span) {
		if s.Leaf == "" { // under the stacks of looks at others like them
			a.totals.estimated += s.CPU
		}
		a.add(p, nil, &s)
	})
}

// passedTo gives the process that books what children of another one used, nil if that one does so itself. It may have
// become another's child since, and the account of the one before is closed: what came there now would be lost.
func (a *accountant) passedTo(p *processAccount) *processAccount {
	if to := p.waiter; to != nil && a.byMember[to.member] == to {
		return to
	}
	return nil
}

// bookChildren books what children of a process used that nobody met.
func (a *accountant) bookChildren(p *processAccount, ns, now int64) {
	delete(a.byMember, p.member)
	a.totals.target += ns
	if to := a.passedTo(p); to != nil {
		p.book.PassChildrenTo(&to.book, ns)
		return
	}
	p.book.Children(ns, now, func(s booking.Span) {
		if s.Leaf == "" { // under the stacks of samples of them
			a.totals.estimated += s.CPU
		}
		a.add(p, nil, &s)
	})
}

// closeAccounts books all that is open when the tracer has sent its last
// event: nothing, unless it broke down.
func (a *accountant) closeAccounts(now int64) {
	for th := range a.threads {
		a.finish(th)
	}
	if a.lockNames != nil {
		_ = a.lockNames.Close()
		a.lockNames = nil
	}
	clear(a.threads)
	for p := range a.procs {
		a.endProcess(p, &processEnd{}, now)
	}
	if a.family != nil {
		a.family.Close()
	}
}

// cut books what is open, so that a recording written now has it.
func (a *accountant) cut() {
	for th := range a.threads {
		th.book.Cut(a.gaps, a.emitter(th))
	}
}

// emitter gives the function that books a thread's spans.
func (a *accountant) emitter(th *threadAccount) func(booking.Span) {
	a.cur = th
	return a.emitOne
}

func (a *accountant) emit(s booking.Span) { a.add(a.cur.proc, a.cur, &s) }

// add adds a span to the recording. All time comes this way. th is nil where it is of no thread in particular.
func (a *accountant) add(p *processAccount, th *threadAccount, s *booking.Span) {
	a.totals.book(s)
	i := a.interval(p, th, s)
	a.builder.Add(i)
	if a.watch != nil {
		a.watch.Add(i)
	}
}

// interval gives a span as the recording has it.
func (a *accountant) interval(p *processAccount, th *threadAccount, s *booking.Span) profile.Interval {
	i := profile.Interval{
		Stack: a.stackOf(s), PID: p.target.PID, NSPID: p.nsPID, Comm: p.comm, Thread: booking.Exited,
		State: s.State.String(), Wait: s.Wait, WaitsFor: s.WaitsFor, Owner: s.Owner, End: a.unix.Of(s.End),
		Samples: s.Samples, Wall: s.Wall, RunQueue: s.RunQueue, CPU: s.CPU,
	}
	switch {
	case s.Program != "":
		i.Thread = booking.ChildrenOf(s.Program)
	case s.Leaf == booking.ShortLivedChildren:
		i.Thread = booking.Children
	}
	if th != nil {
		i.TID, i.NSTID, i.Thread = th.tid, th.nsTID, th.name
	}
	return i
}

// stackOf gives the stack that a span is booked under.
func (a *accountant) stackOf(s *booking.Span) profile.StackID {
	switch s.Leaf {
	case booking.NotObserved, booking.ExitedUnseen, booking.ShortLivedChildren: // nothing is known
		return a.builder.Intern([]profile.Loc{{Synthetic: s.Leaf}})
	}
	return a.unwind.withLeaf(s.Stack, s.Leaf)
}
