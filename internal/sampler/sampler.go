package sampler

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/booking"
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
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
	pool    *look.Pool
	garbage *ownruntime.Collector
	ring    *batchRing    // from the tracer to the accountant
	arrive  chan *process // to the tracer
	found   chan found    // from the scout to the accountant
	failure failure
	stop    func() // ends the run

	mu      sync.Mutex
	targets map[*code.Process]struct{} // those that are not closed

	start  int64        // when Run began, CLOCK_MONOTONIC ns
	boot   uint64       // the same in clock ticks after boot
	begun  atomic.Int64 // the moment of the first tick, CLOCK_MONOTONIC ns
	tracer atomic.Int64 // the tracer's OS thread; 0: not known yet
	asked  atomic.Bool  // a checkpoint was asked for
	held   atomic.Bool  // no looks are wanted for now
	still  atomic.Bool  // none is made
	// orphaned is closed when the tracer, or the accountant, does not come back.
	orphaned chan struct{}

	acc    *accountant
	unwind *unwinder
	totals totals
	pub    published
	result Stats
}

// New prepares to sample the processes given, which the Sampler closes in the end.
func New(o Options, b *profile.Builder, images *code.ImageCache, procs []*code.Process) *Sampler {
	s := &Sampler{
		opts: o, builder: b, images: images, pool: look.NewPool(1024), targets: map[*code.Process]struct{}{},
		ring: newBatchRing(ringSize), arrive: make(chan *process, max(1024, len(procs))), found: make(chan found),
		garbage: ownruntime.NewCollector(), orphaned: make(chan struct{}),
	}
	for _, t := range procs {
		s.add(t, false)
	}
	return s
}

// add remembers a process and hands it to the tracer. The number of those
// that wait to be taken on is bounded; beyond it they are not sampled. child: one that is sampled has started it.
func (s *Sampler) add(t *code.Process, child bool) { s.addChild(t, child, 0) }

// addChild is add for the child of a process with a number, 0 if that is not known.
func (s *Sampler) addChild(t *code.Process, child bool, parent int) {
	if s.opts.JITFuncs != nil {
		t.JITFuncs = s.opts.JITFuncs(t.PID)
	}
	p := &process{target: t, child: child, extra: look.TaskStacks(t), account: &processAccount{target: t, main: t.Main(),
		parent: parent}}
	p.account.plans.Store(callstack.FirstPlan(t.Namers()))
	p.account.foreseeLack(p.extra != nil)
	p.account.book.Selected = s.opts.Threads != nil
	s.mu.Lock()
	s.targets[t] = struct{}{}
	s.mu.Unlock()
	select {
	case s.arrive <- p:
	default:
		s.drop(t)
	}
}

// drop lets go of a process that is not sampled any more.
func (s *Sampler) drop(t *code.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.targets[t]; ok {
		delete(s.targets, t)
		_ = t.Close() // of descriptors that were only read
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
	return moduleInfo(p.PID, m)
}

// Run samples until ctx ends or the last process has ended, and gives what was done. The recording is then whole: all
// that was seen is in the Builder. The error is not nil if a part of the sampler itself broke down. What was seen
// until then is in the Builder all the same, and no target is left stopped. With [ErrHung] some may be until this
// process ends, as it then must.
func (s *Sampler) Run(ctx context.Context) (Stats, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.stop = cancel
	undo := ownruntime.KeepQuiet()
	s.start, s.boot = procmem.Now(), cmp.Or(s.opts.Launched, BootTicks())
	defer ownruntime.RelaxMonitor()()
	s.acc = s.newAccountant()
	c := s.newTracer()
	var scouting sync.WaitGroup
	accounted, traced := make(chan struct{}), make(chan struct{})
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
		defer close(traced)
		s.trace(ctx, c)
		cancel()
	}()
	if err := s.waitFor(ctx, traced, accounted); err != nil {
		// The runtime would wait for the thread that hangs, were anything of it changed now.
		cancel()
		s.result.Seconds = seconds(procmem.Now() - s.begun.Load())
		s.conclude(c, s.acc)
		return s.result, errors.Join(err, s.failure.get())
	}
	<-traced
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
	s.unwind.images = s.images
	if s.opts.prepare != nil {
		s.opts.prepare(s.unwind)
	}
	a := &accountant{
		builder: s.builder, unwind: s.unwind, totals: &s.totals, pool: s.pool, pub: &s.pub, save: s.opts.Checkpoint,
		watch:    s.opts.Watch,
		selected: s.opts.Threads != nil, threads: map[*threadAccount]struct{}{}, procs: map[*processAccount]struct{}{},
		close: s.drop, unix: booking.NewUnixTime(procmem.Now), garbage: s.garbage,
	}
	a.emitOne = a.emit
	if s.opts.Children && s.opts.Threads == nil {
		a.family, a.launched = booking.NewFamily(), s.opts.Launched != 0
		a.byMember = map[*booking.Member]*processAccount{}
		if s.opts.Events != nil {
			a.period = s.opts.Events.Period()
		}
	}
	return a
}

// account handles events until the tracer has ended, and opens the processes
// that the scout finds. If that breaks down, it lets the rest pass, so that the
// tracer comes to its end.
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

// left gives the batches that still come when the accountant has broken down: none if the tracer hangs.
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
	a.garbage.Measure(procmem.Now())
	if a.family != nil {
		a.family.Tick(procmem.Now())
	}
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
