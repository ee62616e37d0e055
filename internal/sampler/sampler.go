package sampler

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/ptrace"
)

// fileReserve is the number of descriptors left for everything but kept-open
// /proc files.
const fileReserve = 512

// ringSize is the number of ticks that the accountant may be behind.
const ringSize = 1024

// Sampler samples processes into a recording.
type Sampler struct {
	opts    Options
	builder *profile.Builder
	images  *code.ImageCache
	ring    *batchRing
	garbage *collector
	arrive  chan *process
	found   chan found  // processes that the scout has found
	asked   atomic.Bool // a checkpoint was asked for
	pub     published
	totals  totals
	mu      sync.Mutex
	targets map[*code.Process]struct{} // those that are not closed
	failure failure
	stop    func() // ends the run
	start   int64  // when Run began, CLOCK_MONOTONIC ns
	boot    uint64 // the same in clock ticks after boot
	pool    *look.Pool
	unwind  *unwinder
	result  Stats
	begun   atomic.Int64
	held    atomic.Bool // no looks are wanted for now
	still   atomic.Bool // none is made
	acc     *accountant
	tracer  atomic.Int64 // the controller's OS thread; 0: not known yet
	// orphaned is closed when the controller, or the accountant, does not come back.
	orphaned chan struct{}
}

// New prepares to sample the processes given, which the Sampler closes in the end.
func New(o Options, b *profile.Builder, images *code.ImageCache, procs []*code.Process) *Sampler {
	s := &Sampler{
		opts: o, builder: b, images: images, pool: look.NewPool(1024), targets: map[*code.Process]struct{}{},
		ring: newBatchRing(ringSize), arrive: make(chan *process, max(1024, len(procs))), found: make(chan found),
		garbage: newCollector(), orphaned: make(chan struct{}),
	}
	for _, t := range procs {
		s.take(&process{target: t})
	}
	return s
}

// take remembers a process and hands it to the controller. The number of those
// that wait to be taken on is bounded; beyond it they are not sampled.
func (s *Sampler) take(p *process) {
	p.main, p.extra = p.target.Main(), look.GoStacks(p.target)
	if s.opts.JITFuncs != nil {
		p.target.JITFuncs = s.opts.JITFuncs(p.target.PID)
	}
	s.mu.Lock()
	s.targets[p.target] = struct{}{}
	s.mu.Unlock()
	select {
	case s.arrive <- p:
	default:
		s.drop(p)
	}
}

// drop lets go of a process that is not sampled any more.
func (s *Sampler) drop(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.targets[p.target]; ok {
		delete(s.targets, p.target)
		_ = p.target.Close() // of descriptors that were only read
	}
}

// Close lets go of all processes that were sampled.
func (s *Sampler) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for t := range s.targets {
		errs = append(errs, t.Close())
	}
	clear(s.targets)
	return errors.Join(errs...)
}

// ModuleInfo describes a module as the recording does.
func (s *Sampler) ModuleInfo(p *code.Process, m *frames.Module) *profile.ModuleInfo {
	return moduleInfo(p, m)
}

// Run samples until ctx ends or the last process has ended, and gives what was
// done. The recording is then whole: all that was seen is in the Builder. The error
// is not nil if a part of the sampler itself broke down; what was seen until then is
// in the Builder all the same, and no target is left stopped. With [ErrHung] some may be
// until this process ends, as it then must.
func (s *Sampler) Run(ctx context.Context) (Stats, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.stop = cancel
	undo := keepQuiet()
	s.start, s.boot = procmem.Now(), bootTicks()
	defer relaxMonitor()()
	s.acc = s.newAccountant()
	c := s.newController()
	var scouting sync.WaitGroup
	accounted, controlled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(accounted)
		s.account(s.acc)
	}()
	if s.opts.Children {
		scouting.Go(func() {
			defer s.failure.guard(cancel)
			s.scout(ctx)
		})
	}
	go func() {
		defer close(controlled)
		s.trace(ctx, c)
		cancel()
	}()
	if err := s.waitFor(ctx, controlled, accounted); err != nil {
		// The runtime would wait for the thread that hangs, were anything of it changed now.
		cancel()
		s.result.Seconds = seconds(procmem.Now() - s.begun.Load())
		s.conclude(c, s.acc)
		return s.result, errors.Join(err, s.failure.get())
	}
	<-controlled
	undo()
	cancel()
	scouting.Wait()
	s.conclude(c, s.acc)
	return s.result, s.failure.get()
}

// CheckpointNow asks for a checkpoint at the next tick.
func (s *Sampler) CheckpointNow() { s.asked.Store(true) }

// Progress tells how far the run has come. Any goroutine may call it.
func (s *Sampler) Progress() Progress { return s.pub.progress() }

func (s *Sampler) newAccountant() *accountant {
	s.unwind = newUnwinder(s.builder, s.opts.MaxDepth)
	if s.opts.prepare != nil {
		s.opts.prepare(s.unwind)
	}
	a := &accountant{
		builder: s.builder, unwind: s.unwind, totals: &s.totals, pool: s.pool, pub: &s.pub, save: s.opts.Checkpoint,
		selected: s.opts.Threads != nil,
		threads:  map[*thread]struct{}{}, procs: map[*process]struct{}{}, close: s.drop, epoch: monotonicEpoch(procmem.Now), garbage: s.garbage,
	}
	a.emitOne = a.emit
	return a
}

func (s *Sampler) newController() *controller {
	c := &controller{
		opts: &s.opts, budget: procmem.NewBudget(fileReserve), ring: s.ring, pool: s.pool, pace: newPace(&s.opts, runtime.NumCPU()), out: s.ring.get(),
		census: s.opts.Census, start: s.start, boot: s.boot, sched: newSchedule(s.start, s.opts.Freq), garbage: s.garbage, place: &place{},
	}
	c.births.file, _ = procmem.OpenBirths() // else each tick may have had some
	c.done, c.dueFn = c.collected, c.due
	s.garbage.await = c.await
	return c
}

// trace runs the ticks, on one OS thread after the other: each ends when this process is stopped, so that
// nobody stays attached to it.
func (s *Sampler) trace(ctx context.Context, c *controller) {
	defer close(s.ring.full)
	defer c.births.close()
	for again := true; again; {
		again = false
		look.OnThread(func() {
			defer s.failure.guard(s.stop)
			s.tracer.Store(int64(unix.Gettid()))
			again = s.control(ctx, c)
		})
	}
}

// control runs the ticks; again is true if it had to leave before the end. Precondition: the goroutine is locked
// to its OS thread.
func (s *Sampler) control(ctx context.Context, c *controller) (again bool) {
	ctl := ptrace.NewController(ptrace.Options{ReadOnly: s.opts.ReadOnly, NoCollector: true})
	defer ctl.Close() // also after a panic: nobody stays stopped
	c.looker = look.New(ctl, s.pool, s.opts.Rung)
	defer c.looker.Close()
	c.place = newPlace(ctl.Moved)
	c.looker.LimitPause(s.opts.MaxPause)
	s.result.Scheduling = ctl.Scheduling()
	s.begin(c)
	defer func() {
		if c.ended == 0 { // it broke down, or goes on later
			c.ended = procmem.Now()
		}
		s.result.Seconds = seconds(c.ended - s.begun.Load())
		s.result.Broken += int64(ctl.Stats().Broken)
		s.result.Told += int64(ctl.Stats().Told)
	}()
	if c.ended = 0; s.ticks(ctx, c, ctl) {
		c.leave()
		return true
	}
	c.last(procmem.Now())
	ctl.Close()
	return false
}

// begin begins the schedule, once.
func (s *Sampler) begin(c *controller) {
	start := procmem.Now()
	if s.begun.CompareAndSwap(0, start) {
		c.sched = newSchedule(start, s.opts.Freq)
		c.pace.since = start
		c.watch.start(start, procmem.Suspended())
	}
}

// ticks runs one tick after the other. The first is at once, and done in any case: a recording that
// ends before prywalk gets a processor has one look at each thread all the same. leave is true if this process is
// about to be stopped.
func (s *Sampler) ticks(ctx context.Context, c *controller, ctl *ptrace.Controller) (leave bool) {
	for ; !c.began || ctx.Err() == nil; c.began = true {
		if ptrace.Leaving() {
			return true
		}
		if s.held.Load() {
			s.wait(ctx, c, ctl)
			continue
		}
		c.looker.Woken(procmem.Now())
		c.awake(procmem.Now())
		for admitting := true; admitting; {
			select {
			case p := <-s.arrive:
				c.admit(p)
			default:
				admitting = false
			}
		}
		now := procmem.Now()
		c.sched.setRate(now, c.pace.rate(now))
		next := c.sched.next(now)
		c.tickWithin(now, next)
		if s.asked.Swap(false) || c.checkpointDue(now, &s.pub) {
			s.pub.saving.Store(true)
			c.flush(now)
		}
		s.pub.set(c)
		c.garbage.collect(now, c.looker.Waiting())
		if c.allGone() && len(s.arrive) == 0 {
			return false
		}
		c.attend(next)
		sleepUntil(ctx, ctl, next)
	}
	return false
}

// checkpointPart bounds what checkpoints take: each is written whole, so that those of a long recording take
// ever longer, and a checkpoint comes no sooner than so many times as long after the one before as that took.
const checkpointPart = 20

// checkpointDue reports whether it is time for a checkpoint.
func (c *controller) checkpointDue(now int64, p *published) bool {
	every := int64(c.opts.CheckpointEvery)
	if c.flushed == 0 {
		c.flushed = now
	}
	return every > 0 && !p.saving.Load() && now-c.flushed > max(every, checkpointPart*p.saveTook.Load())
}

// account handles events until the controller has ended, and opens the processes
// that the scout finds. If that breaks down, it lets the rest pass, so that the
// controller comes to its end.
func (s *Sampler) account(a *accountant) {
	defer func() {
		for b := range s.left() {
			s.ring.put(b)
		}
		defer s.failure.guard(nil)
		a.closeAccounts(procmem.Now())
	}()
	defer s.failure.guard(s.stop)
	for {
		select {
		case b, ok := <-s.ring.full:
			if !ok {
				return
			}
			s.book(a, b)
			a.saveIfAsked(func() { s.bookWaiting(a) })
		case f := <-s.found:
			a.unwind.books.lend()
			s.adopt(f)
			a.unwind.books.back()
		case <-s.orphaned:
			s.orphan(a)
			return
		}
	}
}

// left gives the batches that still come when the accountant has broken down: none if the controller hangs.
func (s *Sampler) left() chan batch {
	if closed(s.orphaned) {
		none := make(chan batch)
		close(none)
		return none
	}
	return s.ring.full
}

// book handles a batch of events.
func (s *Sampler) book(a *accountant, b []event) {
	for i := range b {
		a.handle(&b[i])
	}
	a.garbage.measure(procmem.Now())
	s.ring.put(b)
}

// bookWaiting handles the batches that have come, without waiting for more.
func (s *Sampler) bookWaiting(a *accountant) {
	for {
		select {
		case b, ok := <-s.ring.full:
			if !ok {
				return // the end: the loop that called sees it too
			}
			s.book(a, b)
		default:
			return
		}
	}
}

// napLimit is how long the controller may sleep before it looks whether it is to
// end, in nanoseconds.
const napLimit = 20e6

// sleepUntil waits for a moment of CLOCK_MONOTONIC, for the end of ctx, or until this process is about to be stopped.
func sleepUntil(ctx context.Context, ctl *ptrace.Controller, at int64) {
	for {
		left := at - procmem.Now()
		if left <= 0 || ctx.Err() != nil || ptrace.Leaving() {
			return
		}
		ptrace.Pin()
		ctl.SleepUntil(at - max(0, left-napLimit)) // cut short: the loop goes on
		ptrace.Unpin()
	}
}
