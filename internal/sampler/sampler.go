package sampler

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/target"
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
	images  *target.ImageCache
	ring    *batchRing
	arrive  chan *process
	found   chan int    // processes that the scout has found
	asked   atomic.Bool // a checkpoint was asked for
	pub     published
	totals  totals
	mu      sync.Mutex
	targets []*target.Process // all that were taken on
	pool    *look.Pool
	unwind  *unwinder
	result  Stats
	begun   atomic.Int64
}

// New prepares to sample the processes given, which the Sampler closes in the end.
func New(o Options, b *profile.Builder, images *target.ImageCache, procs []*target.Process) *Sampler {
	s := &Sampler{opts: o, builder: b, images: images, ring: newBatchRing(ringSize), arrive: make(chan *process, 1024), found: make(chan int), pool: look.NewPool(1024)}
	for _, t := range procs {
		s.take(&process{target: t})
	}
	return s
}

// take remembers a process and hands it to the controller. The number of those
// that wait to be taken on is bounded; beyond it they are not sampled.
func (s *Sampler) take(p *process) {
	p.extra = look.GoStacks(p.target)
	if s.opts.JITFuncs != nil {
		p.target.JITFuncs = s.opts.JITFuncs(p.target.PID)
	}
	s.mu.Lock()
	s.targets = append(s.targets, p.target)
	s.mu.Unlock()
	select {
	case s.arrive <- p:
	default:
	}
}

// Close lets go of all processes that were sampled.
func (s *Sampler) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, t := range s.targets {
		errs = append(errs, t.Close())
	}
	s.targets = nil
	return errors.Join(errs...)
}

// ModuleInfo describes a module as the recording does.
func (s *Sampler) ModuleInfo(p *target.Process, m *frames.Module) *profile.ModuleInfo {
	return moduleInfo(p, m)
}

// Run samples until ctx ends or the last process has ended, and gives what was
// done. The recording is then whole: all that was seen is in the Builder.
func (s *Sampler) Run(ctx context.Context) Stats {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	acc := s.newAccountant()
	scouted := make(chan struct{})
	accounted := make(chan struct{})
	go func() {
		defer close(accounted)
		s.account(acc)
	}()
	if s.opts.Children {
		go s.scout(ctx, scouted)
	} else {
		close(scouted)
	}
	controlled := make(chan *controller, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends, and its priority with it
		c := s.control(ctx)
		close(s.ring.full)
		controlled <- c
	}()
	c := <-controlled
	cancel()
	<-accounted
	<-scouted
	s.conclude(c, acc)
	return s.result
}

// CheckpointNow asks for a checkpoint at the next tick.
func (s *Sampler) CheckpointNow() { s.asked.Store(true) }

// Progress tells how far the run has come. Any goroutine may call it.
func (s *Sampler) Progress() Progress { return s.pub.progress() }

// FirstTick is the moment of the first tick, in nanoseconds of CLOCK_MONOTONIC, 0
// before.
func (s *Sampler) FirstTick() int64 { return s.begun.Load() }

func (s *Sampler) newAccountant() *accountant {
	s.unwind = newUnwinder(s.builder, s.opts.MaxDepth)
	return &accountant{
		builder: s.builder, unwind: s.unwind, totals: &s.totals, pool: s.pool, pub: &s.pub, save: s.opts.Checkpoint,
		selected: s.opts.Threads != nil,
		threads:  map[*thread]struct{}{}, epoch: monotonicEpoch(procmem.Now),
	}
}

// control runs the ticks. Precondition: the goroutine is locked to its OS thread.
func (s *Sampler) control(ctx context.Context) *controller {
	ctl := ptrace.NewController(ptrace.Options{ReadOnly: s.opts.ReadOnly})
	defer ctl.Close()
	c := &controller{
		opts: &s.opts, budget: procmem.NewBudget(fileReserve), ring: s.ring,
		looker: look.New(ctl, s.pool, s.opts.Rung), pace: newPace(&s.opts), out: s.ring.get(),
	}
	s.result.Scheduling = ctl.Scheduling()
	start := procmem.Now()
	s.begun.Store(start)
	c.sched = newSchedule(start, s.opts.Freq)
	s.ticks(ctx, c)
	c.last(procmem.Now())
	s.result.Seconds = float64(procmem.Now()-start) / 1e9
	return c
}

// ticks runs one tick after the other. The first is at once.
func (s *Sampler) ticks(ctx context.Context, c *controller) {
	for ctx.Err() == nil {
		for admitting := true; admitting; {
			select {
			case p := <-s.arrive:
				c.admit(p)
			default:
				admitting = false
			}
		}
		now := procmem.Now()
		c.sched.setRate(now, c.pace.rate())
		next := c.sched.next(now)
		c.tick(now, next)
		if s.asked.Swap(false) || c.checkpointDue(now) {
			c.flush(now)
		}
		s.pub.set(c)
		if c.allGone() && len(s.arrive) == 0 {
			return
		}
		sleepUntil(ctx, next)
	}
}

// checkpointDue reports whether it is time for a checkpoint.
func (c *controller) checkpointDue(now int64) bool {
	every := int64(c.opts.CheckpointEvery)
	if c.flushed == 0 {
		c.flushed = now
	}
	return every > 0 && now-c.flushed > every
}

// account handles events until the controller has ended, and opens the processes
// that the scout finds.
func (s *Sampler) account(a *accountant) {
	for {
		select {
		case b, ok := <-s.ring.full:
			if !ok {
				return
			}
			for i := range b {
				a.handle(&b[i])
			}
			s.ring.put(b)
		case pid := <-s.found:
			s.adopt(pid)
		}
	}
}

// napLimit is how long the controller may sleep before it looks whether it is to
// end, in nanoseconds.
const napLimit = 20e6

// sleepUntil waits for a moment of CLOCK_MONOTONIC, or for the end of ctx.
func sleepUntil(ctx context.Context, at int64) {
	for {
		left := at - procmem.Now()
		if left <= 0 || ctx.Err() != nil {
			return
		}
		ts := unix.NsecToTimespec(at - max(0, left-napLimit))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) // cut short: the loop goes on
	}
}
