package sampler

import (
	"time"

	"prywalk/frames"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
)

// nameEvery is how old a thread's name may get, in nanoseconds: programs name
// their threads after they started them.
const nameEvery = 1e9

// accountant unwinds what the controller copied and books the threads' time. It
// belongs to one goroutine.
type accountant struct {
	builder *profile.Builder
	unwind  *unwinder
	pool    *look.Pool
	pub     *published
	save    func(between func())
	asked   bool // everything is booked for a checkpoint that is to be written
	garbage *collector
	totals  *totals
	threads map[*thread]struct{}
	procs   map[*process]struct{}
	close   func(*process)
	epoch   int64 // Unix time less CLOCK_MONOTONIC, ns

	gaps  gaps
	slept []wakeUp

	selected   bool    // only some threads are wanted: the others' time is not booked
	slowest    float64 // lowest rate of looks a second that a thread got
	slowestTID int
	rates      []ThreadRate

	cur     *thread // whose slices emit books
	emitOne func(slice)
}

// handle books one event.
func (a *accountant) handle(e *event) {
	switch e.kind {
	case admitted:
		a.admit(e)
	case looked:
		a.look(e)
	case unchanged:
		a.settleEarly(e.thread, false)
		a.extend(e.thread, e.at, e.reuses)
	case ended:
		a.settleEarly(e.thread, false)
		a.extend(e.thread, e.at, e.reuses)
		a.leftAlone(e.thread, &e.thread.left)
		a.end(e)
		a.finish(e.thread)
		delete(a.threads, e.thread)
	case vanished:
		a.exit(e.proc, e.at.Wall)
	case renamed:
		a.exec(e)
	case flush:
		a.checkpoint()
		a.asked = true
	case unwatched:
		a.gaps.add(e.at.Wall, e.length)
	case resumed:
		a.checkpoint()
		a.slept = append(a.slept, wakeUp{e.at.Wall, e.length})
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

// look unwinds a shot and books the interval that it ends.
func (a *accountant) look(e *event) {
	th, s := e.thread, e.shot
	a.meet(th, s)
	id, stop := a.unwind.unwind(th, s)
	a.totals.stack(stop, s.How)
	a.pub.stacks.Store(a.totals.stacks)
	a.pub.whole.Store(a.totals.stops[frames.StopRoot])
	if s.State != look.Running && s.At-th.met < nameEvery {
		th.named = 0 // it may have named itself, and sleep for good now
	}
	a.rename(th, s.At)
	a.leftAlone(th, &s.Left)
	a.take(th, &booking{
		at: reading(s.Sched, s.At), where: seen{stack: id, state: s.State, wait: s.Wait(), whole: stop.Complete()},
		onCPU: s.OnCPU, basis: s.Basis, reuses: e.reuses, unchanged: e.at, apart: e.length,
	})
	a.pool.Put(s)
	e.shot = nil
}

// meet begins a thread's account at its first look.
func (a *accountant) meet(th *thread, s *look.Shot) {
	if th.started {
		return
	}
	th.firstAt = s.At
	a.open(th)
	if th.born {
		th.clock.begin(th.birth(reading(s.Sched, s.At)))
	}
}

// open begins a thread's account.
func (a *accountant) open(th *thread) {
	th.started = true
	a.threads[th] = struct{}{}
	if th.proc.nsPID != 0 {
		th.nsTID = inside(th.look.TID)
	}
}

// birth gives the beginning of a thread whose clocks show r and whose birth was seen. It lived at most since the
// listing before the one that found it; all the time that its clocks show was since then.
func (th *thread) birth(r Reading) Reading {
	return Reading{Wall: min(th.bornAt, r.Wall-r.CPU-r.RunQueue)}
}

// book books the interval that a look ends.
func (a *accountant) book(th *thread, b *booking) {
	// Until the last tick at which it was found unchanged the thread was where
	// it was before.
	a.extend(th, b.unchanged, b.reuses)
	th.looks++
	th.lastAt = b.at.Wall
	if th.clock.started {
		if length := a.gaps.within(th.clock.observed(), b.at.Wall); length > 0 {
			th.clock.skip(length, b.at, b.where.state, a.emitter(th))
		}
	}
	th.firstMet(b)
	th.clock.look(b.at, b.where, b.onCPU, a.emitter(th))
}

// extend books the time up to the last tick at which the thread was unchanged.
func (a *accountant) extend(th *thread, at Reading, reuses int64) {
	th.looks += reuses
	if reuses > 0 && at.Wall != 0 {
		// A look that was pending can end after the tick began at which the thread
		// is then found unchanged.
		at.Wall = max(at.Wall, th.clock.last.Wall)
		th.clock.unchanged(at, reuses)
		th.lastAt = at.Wall
	}
}

// finish books what is left of a thread.
func (a *accountant) finish(th *thread) {
	if !th.started {
		return
	}
	th.named = 0
	a.rename(th, th.lastAt)
	a.settleEarly(th, false)
	th.clock.finish(a.emitter(th))
	th.proc.used += th.clock.last.CPU - th.clock.first.CPU
	a.rate(th)
}

// rate notes how often a thread was looked at, if it was there for a second.
func (a *accountant) rate(th *thread) {
	took := th.lastAt - th.firstAt
	if took < 1e9 || th.looks == 0 {
		return
	}
	r := ThreadRate{PID: th.proc.target.PID, TID: th.look.TID, Name: th.name, Looks: th.looks, Seconds: seconds(took)}
	if rate := r.Rate(); a.slowest == 0 || rate < a.slowest {
		a.slowest, a.slowestTID = rate, r.TID
	}
	if len(a.rates) < maxRates {
		a.rates = append(a.rates, r)
	}
}

// rename reads the thread's name anew from time to time.
func (a *accountant) rename(th *thread, now int64) {
	if now-th.named < nameEvery {
		return
	}
	th.named = now
	if name := th.proc.target.ThreadName(th.look.TID); name != "" {
		th.name = name
	}
}

// emitter gives the function that books a thread's slices.
func (a *accountant) emitter(th *thread) func(slice) {
	a.cur = th
	return a.emitOne
}

// emit adds a slice to the recording.
func (a *accountant) emit(s slice) {
	th := a.cur
	a.totals.book(&s)
	a.builder.Add(profile.Interval{
		Stack: a.stackOf(&s),
		PID:   th.proc.target.PID, TID: th.look.TID, NSPID: th.proc.nsPID, NSTID: th.nsTID,
		Comm: th.proc.comm, Thread: th.name,
		State: s.state.String(), Wait: s.wait,
		End:     a.unix(s.end),
		Samples: s.samples, Wall: s.wall, RunQueue: s.runq, CPU: s.cpuRun,
	})
}

// checkpoint books what is open, so that a recording written now has it.
func (a *accountant) checkpoint() {
	for th := range a.threads {
		a.settleEarly(th, false)
		th.clock.cut(a.emitter(th))
	}
}

// stackOf gives the stack that a slice is booked under.
func (a *accountant) stackOf(s *slice) profile.StackID {
	if s.leaf == NotObserved {
		return a.builder.Intern([]profile.Loc{{Synthetic: NotObserved}})
	}
	return a.unwind.withLeaf(s.stack, s.leaf)
}

// wakeUp is the end of a suspension of the machine, CLOCK_MONOTONIC ns, and its length.
type wakeUp struct{ at, length int64 }

// unix gives a moment of CLOCK_MONOTONIC in Unix time, which goes on while the machine is suspended.
func (a *accountant) unix(at int64) int64 {
	unix := at + a.epoch
	for i := range a.slept {
		if s := &a.slept[i]; at > s.at {
			unix += s.length
		}
	}
	return unix
}

// epochTries is how often the two clocks are read for monotonicEpoch.
const epochTries = 20

// monotonicEpoch gives the difference between Unix time and CLOCK_MONOTONIC. Whoever
// reads the one and then the other may be put off its processor in between, for seconds
// on a busy machine: the reading that took the shortest is the best.
func monotonicEpoch(now func() int64) (epoch int64) {
	shortest := int64(1 << 62)
	for range epochTries {
		before := now()
		unix := time.Now().UnixNano()
		if took := now() - before; took < shortest {
			shortest, epoch = took, unix-before-took/2
		}
	}
	return epoch
}

// stack counts a stack by how its walk ended and how the thread was looked at.
func (t *totals) stack(stop frames.StopReason, how look.How) {
	t.stacks++
	t.stops[stop]++
	if stop.Complete() {
		t.whole[how]++
	}
}
