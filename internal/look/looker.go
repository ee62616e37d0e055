// SPDX-License-Identifier: Apache-2.0

package look

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// LongFreeze is from which length on it is told why a freeze was long, in nanoseconds.
const LongFreeze = 1 << 18

// Outcome is what [Looker.Begin] came to.
type Outcome uint8

// The outcomes.
const (
	Pending    Outcome = iota // the thread was interrupted; Collect will finish it
	Reused                    // it has not run since its last look
	Done                      // the shot is complete
	Runs                      // it runs, and the kernel samples it
	Queued                    // it waits for a processor, and only who is on one is stopped
	SleptAgain                // it has run, and sleeps in the same place of the same stack as at its last shot
)

// Looker looks at threads. Precondition of all methods: they run on the OS thread
// of its controller.
type Looker struct {
	ctl      *ptrace.Controller
	pool     *Pool
	arch     frames.Arch
	rung     Rung
	pause    pauseLimit
	relays   *procmem.Relays // see LetGoInTime
	lent     lentClocks
	pending  []*Thread // by the tag of their ptrace.Look, less one
	req      ptrace.Request
	stop     ptrace.Stop
	woken    skid.Wake
	tracer   skid.Tracer
	reader   ptrace.Reader
	others   otherStacks
	pieces   pieces
	deep     []byte // takes stacks that are deeper than the last walks were
	tail     []byte // takes the outermost frames of those that are deeper still
	planned  planned
	regions  [maxRegions]frames.Region // of the look that is being finished
	unproven unprovenSites
	spare    *Shot // of a look whose shot nobody wanted
	kernel   kernelStacks
	careful  bool // see OnlyOnProcessors

	candidates []candidate // of one tick
}

// New gives a looker that takes its shots from pool; rung is Ladder but for
// measurements.
func New(ctl *ptrace.Controller, pool *Pool, rung Rung) *Looker {
	return &Looker{ctl: ctl, pool: pool, arch: hostArch(), rung: rung}
}

// Begin looks at a thread, if that can be done without stopping it, and otherwise
// asks it to stop. The error is one that [Reason] classifies; the look is then
// over.
func (l *Looker) Begin(t *Thread) (Outcome, *Shot, error) {
	sched, err := l.clocks(t)
	if err != nil {
		return 0, nil, err
	}
	t.asleepIn.Nr = -1
	t.skid.BeginLook(l.wake().At, sched.Runs)
	again := l.takeNeeds(t) && l.mayFreezeSleepers()
	if l.rung < AlwaysPeek && !again && t.standsAsItWas(sched) {
		return Reused, nil, nil
	}
	if !l.readsInTime(t, false) {
		t.base.valid = false
		return 0, nil, refusal.MapLock
	}
	s := l.shot()
	t.slept.beginLook(t, l.rung < AlwaysPeek && !again)
	asleep := false
	if l.rung != AlwaysFreeze {
		asleep, err = l.peek(t, s, sched)
	}
	if err == nil && !asleep && l.awaitsMappings(t, s) {
		asleep, err = l.lookAnew(t, s)
	}
	if err == nil && !l.readInTime(t) {
		err = refusal.MapLock
	}
	if err == nil && asleep {
		t.leftCall()
	}
	if err == nil && asleep && !l.wantsFreeze(t, s) {
		return l.asleepThere(t, s)
	}
	if err == nil && !asleep && t.Sampled() {
		l.pool.Put(s)
		t.base.valid = false
		return Runs, nil, nil
	}
	if err == nil && !asleep && l.rung != AlwaysFreeze && t.leaveAlone() {
		err = refusal.InCall
	}
	if err == nil && l.waitsForTurn(t, asleep) {
		l.pool.Put(s)
		return Queued, nil, nil
	}
	if err == nil {
		err = l.freeze(t, s, false)
	}
	if err != nil {
		l.pool.Put(s)
		t.base.valid = false
		return 0, nil, err
	}
	return Pending, nil, nil
}

// clocks reads the clocks that a look begins with.
func (l *Looker) clocks(t *Thread) (sched procmem.SchedStat, err error) {
	sched, err = t.files.SchedStat()
	if err == nil && (sched.Runs < t.before.Runs || sched.CPU < t.before.CPU) {
		err = ptrace.ErrGone // the number is another thread's by now
	}
	if err == nil {
		if t.before == (procmem.SchedStat{}) {
			t.first = sched
		}
		t.before = sched
	}
	return sched, err
}

// standsAsItWas reports whether a thread has not run since its last look, and that one is to stand.
func (t *Thread) standsAsItWas(sched procmem.SchedStat) bool {
	switch {
	case !t.unchanged(sched) && !t.backInStop(sched):
		t.doubts = doubts{}
	case !t.doubts.again(t.needs.get().Incomplete):
		t.restless = false
		return true
	}
	return false
}

// asleepThere ends a look at a sleeper that was peeked at.
func (l *Looker) asleepThere(t *Thread, s *Shot) (Outcome, *Shot, error) {
	t.base = baseline{runs: s.Sched.Runs, state: s.State, valid: true}
	if t.slept.again(s) {
		t.before, t.slept.lastAt, l.spare = s.Sched, s.At, s
		return SleptAgain, nil, nil
	}
	s.Left = t.TakeLeft()
	t.slept.told(s)
	return Done, s, nil
}

// backInStop reports whether a thread that was frozen while it was stopped by job
// control is back in that stop, and has done nothing but that.
func (t *Thread) backInStop(s procmem.SchedStat) bool {
	if !t.base.valid || t.base.returns == 0 || s.Runs != t.base.runs+t.base.returns {
		return false
	}
	var st procmem.Stat
	if t.files.Stat(&st) != nil || sample.StateOf(st.State) != sample.Stopped {
		return false
	}
	t.base.runs, t.base.returns = s.Runs, 0
	return true
}

// wantsFreeze finds the state of a thread that was peeked at, and reports whether it is one that is better frozen. A
// thread stopped by job control has no call whose time-out could be stretched, and all its registers are worth
// having.
func (l *Looker) wantsFreeze(t *Thread, s *Shot) bool {
	s.OnCPU, s.Basis = false, sample.Exact
	if t.slept.asleep {
		s.State = sample.Sleeping
		return false
	}
	var st procmem.Stat
	if t.files.Stat(&st) != nil {
		s.State = sample.Sleeping
		return false
	}
	s.State = sample.StateOf(st.State)
	if s.State == sample.Running { // it has just been woken, and has not run yet
		s.State = sample.Sleeping
	}
	if t.sampled != 0 { // where its time goes, samples tell
		return st.State == 'T' || st.State == 'S' && l.lacksRegister(t, s)
	}
	// A thread of which nothing is known yet has no time to book.
	_, found := t.skid.Preempted()
	found = found && s.Sched.Runs == t.before.Runs
	wake, now := l.wake(), procmem.Now()
	if t.base.valid && t.skid.TellsAsleep(wake, now) && (found || st.Processor == l.tracer.Processor(wake.At)) {
		if s.OnCPU = found || l.tracer.Preempted(t.files, wake.At); s.OnCPU {
			t.skid.ExactAt(now)
		}
	}
	return st.State == 'T' || st.State == 'S' && l.lacksRegister(t, s)
}

// interrupt asks a thread to stop. Whether it is on a processor at that moment tells what the look is worth, so its
// clocks are read right before. Of one that computes on and on, and stopped where it was at its last look, those hold
// with which the look has begun. anew: they are those of an earlier stop.
func (l *Looker) interrupt(t *Thread, anew bool) (*ptrace.Look, error) {
	if anew || t.skid.MayWait() {
		return l.ctl.BeginWith(t.TID, t.files)
	}
	return l.ctl.BeginSince(t.TID, &t.before)
}

// freeze begins a look that needs a stop; anew: after one that has copied nothing.
func (l *Looker) freeze(t *Thread, s *Shot, anew bool) error {
	switch {
	case l.rung == OnlyPeek:
		return refusal.Running
	case !l.pause.allows(t):
		return refusal.MaxPause
	}
	waits := t.skid.MayWait() && l.tracer.Judge(&t.skid, t.files, t.lastRun(), l.wake())
	l.makeRoom(t, s)
	call, runs, asleep := l.asleep(t)
	t.foresee()
	l.lent.lend(t.files)
	look, err := l.interrupt(t, anew)
	if err != nil {
		return err
	}
	if asleep {
		look.Sleeping(&call, runs)
	}
	if before, ok := look.Before(); ok {
		if waits && before.Runs != t.before.Runs {
			t.skid.RanOn()
			waits = false
		}
		t.before = before
	}
	t.pending, t.freezing = s, look
	t.begun = procmem.Now() // a look that was given up and is taken up again begins anew
	look.Tag = l.slot(t)
	if t.queued = waits; waits {
		look.Queued()
	}
	return nil
}

// makeRoom makes room for what a freeze copies, and says whether that is by an outline.
func (l *Looker) makeRoom(t *Thread, s *Shot) {
	n := t.needs.get()
	s.roomForRegions(t.regions)
	if s.pieced = n.outline != nil; !s.pieced {
		s.room(n.usual(t.besides()))
		s.touch(t.copied)
		if l.deep == nil {
			l.deep = make([]byte, wholeCopy)
			touch(l.deep)
			l.tail = make([]byte, tailCopy)
			touch(l.tail)
		}
		return
	}
	s.by = n.outline
	s.room(topCopy)
	s.touch(topCopy)
	l.pieces.reserve(n.Bytes)
	if l.pieces.foreseen = nil; t.mayBeDeep() {
		l.pieces.foresee(t.Memory, n.outline)
	}
}

// mayBeDeep reports whether the next freeze may meet the stack deeper than is copied in one piece, going by where the
// last one has met it. If that turns out wrong, only more calls of the kernel are made.
func (t *Thread) mayBeDeep() bool {
	n := t.needs.get()
	return n.Root == 0 || n.Changing || n.Root-t.frozenAt+uncertain >= outlineFrom
}

// uncertain is by how much a stack is thought to grow until the next look, in bytes.
const uncertain = 16 << 10

// taskRegions is how much is thought to be copied besides a thread's stack where there are tasks, at least, in bytes.
// That is the stack of a task that its thread has left, and what leads there. The last look may have met the thread on
// a task's own stack.
const taskRegions = 24 << 10

// besides gives how much the next freeze is thought to copy besides the stack.
func (t *Thread) besides() int {
	if t.Extra != nil {
		return max(t.regions, taskRegions)
	}
	return t.regions
}

// usual gives how much of a stack a freeze makes room for, if the last looks have copied so many bytes of other memory.
// Where no more is asked for than of any stack, that is all that is copied, further regions included, unless these have
// grown by more than a margin. A stack that has
// become much deeper than the last ones has room all the same.
func (n *Needs) usual(regions int) int {
	if n.Bytes > leastCopy || regions == 0 {
		return n.Bytes
	}
	return min(n.Bytes, max(leastCopy-regions-copyMargin, 2*n.Used+copyMargin, topCopy))
}

// deepRoom gives what takes a deep stack: its depth is known in the stop only. A thread that changes stacks has none,
// as the end that is known is mostly another one's.
func (l *Looker) deepRoom(t *Thread, s *Shot) []byte {
	if s.pieced || t.needs.get().Changing {
		return nil
	}
	return l.deep
}

// tailRoom gives what takes the outermost frames of a stack of which something is left out. Run-time systems know where
// the stacks of their tasks end.
func (l *Looker) tailRoom(t *Thread, s *Shot) []byte {
	n := t.needs.get()
	if s.pieced || n.Changing || t.Extra != nil || !n.ToEnd && n.Top == 0 {
		return nil
	}
	return l.tail
}

// extras gives what a freeze copies besides the stack, or the top of it.
func (l *Looker) extras(t *Thread, s *Shot) ptrace.Extra {
	inner := l.extraOf(t)
	if !s.pieced {
		return inner
	}
	l.pieces.inner, l.pieces.by, l.pieces.top = inner, s.by, s.buf
	l.pieces.need = min(t.needs.get().Bytes, len(l.pieces.gap))
	l.pieces.root, l.pieces.changing = t.needs.get().Root, t.needs.get().Changing
	return &l.pieces
}

// expected takes note of whether what was known of the stack fitted.
func (l *Looker) expected(t *Thread, s *Shot) {
	s.lost = t.needs.get().misled || s.pieced && l.pieces.lost
}

// asleep gives the system call that a thread sleeps in which is to be frozen all the
// same, and its count of arrivals. On arm64 the call cannot be restarted without.
func (l *Looker) asleep(t *Thread) (call procmem.SyscallInfo, runs uint64, ok bool) {
	if l.rung != AlwaysFreeze || l.arch != frames.AArch64 {
		return call, 0, false
	}
	runs = t.before.Runs
	for range peekTries {
		call, err := t.files.Syscall()
		if err != nil || call.Running || call.Nr < 0 {
			return call, 0, false
		}
		after, err := t.files.SchedStat()
		if err != nil || after.Runs == runs {
			return call, runs, err == nil
		}
		runs = after.Runs
	}
	return call, 0, false
}

// finish copies what the look is for and lets the thread go.
func (l *Looker) finish(t *Thread, look *ptrace.Look) (*Shot, error) {
	s := t.pending
	t.pending = nil
	l.req = ptrace.Request{
		Stack: s.buf, Deep: l.deepRoom(t, s), Top: t.needs.get().Top,
		ToEnd: t.needs.get().ToEnd && t.Extra == nil, Tail: l.tailRoom(t, s),
		Memory: t.Memory, Files: t.files, Extra: l.extras(t, s),
		Regions: l.regions[:], Longest: l.pause.limit,
	}
	l.readsInTime(t, true) // if not, nothing is read
	err := l.ctl.Finish(look, &l.req, &l.stop)
	if err == nil && !l.readInTime(t) {
		return s, l.letGo(t)
	}
	if t.Memory != nil {
		t.Memory.Stopped()
	}
	if err == nil && !l.stop.SchedOK {
		err = ptrace.ErrGone // it was killed meanwhile, or its number is another thread's by now
	}
	if err != nil {
		t.base.valid = false
		return s, err
	}
	l.fill(t, s)
	return s, nil
}

// fill makes the shot from what was read while the thread was stopped.
func (l *Looker) fill(t *Thread, s *Shot) {
	stop := &l.stop
	s.Regs, s.Sched, s.At, s.How = stop.Regs, stop.Sched, stop.Stop, ByFreeze
	t.frozenAt = stop.Regs.SP()
	t.SeenElsewhere()
	t.tls = stop.Regs.TLS
	s.short, s.Copying, s.Calls = stop.Short, stop.Copied-stop.Taken, stop.Calls
	l.expected(t, s)
	if s.deep = stop.Deep; s.deep {
		s.room(stop.StackLen)
		s.touched = max(s.touched, copy(s.buf, l.deep))
	}
	s.setStack(stop.StackAddr, stop.StackLen, stop.StackAsked)
	s.toKnown = l.req.Top != 0 && !l.req.ToEnd
	s.toTop = l.req.Top != 0 && stop.StackAddr+uint64(stop.StackAsked) == l.req.Top
	if stop.StackEnd != 0 {
		s.Mem.StackEnd = stop.StackEnd
	}
	s.keepRegions(l.regions[:l.withTail(s)])
	t.copied, t.regions = stop.StackLen, max(len(s.extra)-stop.TailLen, t.regions-t.regions/8)
	s.Restarted, s.recalled, s.refused = stop.Restarted, false, false
	s.State, s.Kernel = sample.Running, s.Kernel[:0]
	s.Call = procmem.SyscallInfo{Nr: -1}
	t.passed = 0
	if s.Stopped, s.Late = t.stopped(stop); s.Stopped > LongFreeze {
		s.Why = l.ctl.Why(stop, s.Copied())
		t.heldUp(s.Why)
	}
	s.OnCPU, s.Basis = t.skid.Stopped(s.At, stop.Sched.Runs == t.before.Runs, stop.InSyscall)
	l.pause.froze(t, s.Stopped)
	t.base = baseline{
		runs: stop.Sched.Runs, state: sample.Running, valid: stop.SchedOK, letGo: stop.Detach, cpu: stop.Sched.CPU,
	}
	if stop.Kind == ptrace.KindGroup {
		s.State = sample.Stopped
		t.base.state, t.base.returns = sample.Stopped, 1
	}
	if t.stillAsleep(s, stop); s.State != sample.Sleeping {
		s.KernelText = s.KernelText[:0]
	}
	s.keepNear(t, stop)
	s.Left, s.Broken, s.Told, s.BrokenCall = t.TakeLeft(), stop.Broken, stop.Told, stop.Nr
	if t.leftCall(); stop.GaveUp {
		t.gaveUp(s, stop)
	}
}

// withTail adds the outermost frames to the regions, and gives the number of these.
func (l *Looker) withTail(s *Shot) int {
	n := l.stop.Regions
	if s.tailAt = 0; l.stop.TailLen > 0 && n < len(l.regions) {
		l.regions[n] = frames.Region{Addr: l.stop.TailAddr, Bytes: l.tail[:l.stop.TailLen]}
		s.tailAt, n = l.stop.TailAddr, n+1
	}
	return n
}

// wayIntoStop is how much of the time before a thread is seen stopped counts as the interrupt's, in nanoseconds. The
// way from the interrupt into the stop is that long, at most, for a thread that goes straight there.
const wayIntoStop = 20e3

// stopped gives how long the thread was stopped, at most, and how long it went on after the interrupt. If it has not
// arrived on a processor since before the interrupt, it was on one. The interrupt's way into the stop counts, too, but
// not what the thread did before. It was at work in the kernel, which it leaves before it stops, or the hypervisor had
// taken its processor. If it has arrived on one, it was queued or blocked first.
func (t *Thread) stopped(stop *ptrace.Stop) (stopped, late int64) {
	if stop.SchedOK && stop.Sched.Runs == t.before.Runs {
		from := max(stop.Interrupt, stop.Running-wayIntoStop)
		return stop.Detach - from, from - stop.Interrupt
	}
	return stop.Detach - stop.Running, 0
}
