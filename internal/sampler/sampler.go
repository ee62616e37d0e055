// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"prywalk/internal/accountant"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/ownruntime"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/runstats"
	"prywalk/internal/tracer"
)

// Sampler samples processes into a recording.
type Sampler struct {
	opts    Options
	builder *profile.Builder
	images  *code.ImageCache
	control *tracer.Control
	shared  *handover.Common
	acc     *accountant.Accountant
	found   chan found // from the scout to the accountant
	// orphaned is closed when the tracer, or the accountant, does not come back.
	orphaned chan struct{}

	unopened unopened

	mu      sync.Mutex
	targets map[*code.Process]struct{} // those that are not closed
}

// mostArriving is how many processes at least can wait to be taken on.
const mostArriving = 1024

// New prepares to sample the processes given, which the Sampler closes in the end.
func New(o Options, b *profile.Builder, images *code.ImageCache, procs []*code.Process) *Sampler {
	s := &Sampler{
		opts: o, builder: b, images: images, control: tracer.NewControl(max(mostArriving, len(procs))),
		shared: handover.NewCommon(), found: make(chan found), orphaned: make(chan struct{}),
		targets: map[*code.Process]struct{}{},
	}
	a := o.booking()
	a.Builder, a.Images, a.Close = b, images, s.drop
	s.acc = accountant.New(a, s.shared)
	for _, t := range procs {
		s.add(t, false, 0)
	}
	return s
}

// add remembers a process and hands it to the tracer. The number of those that wait to be taken on is bounded; beyond
// it they are not sampled. child: one that is sampled has started it. parent is whose it is, 0 if that is not known.
func (s *Sampler) add(t *code.Process, child bool, parent int) {
	if s.opts.JITFuncs != nil {
		t.JITFuncs = s.opts.JITFuncs(t.PID)
	}
	s.mu.Lock()
	s.targets[t] = struct{}{}
	s.mu.Unlock()
	p := handover.NewProcess(t, child, parent)
	if child {
		s.acc.Recall(p)
	}
	if !s.control.Admit(p) {
		if d := p.TakeTasks(); d != nil {
			d.Close()
		}
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

// Run samples until ctx ends or the last process has ended, and gives what was done. The recording is then whole: all
// that was seen is in the Builder. The error is not nil if a part of the sampler itself broke down. What was seen
// until then is in the Builder all the same, and no target is left stopped. With [ErrHung] some may be until this
// process ends, as it then must.
func (s *Sampler) Run(ctx context.Context) (runstats.Stats, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	undo := ownruntime.KeepQuiet()
	start, boot := procmem.Now(), cmp.Or(s.opts.Launched, BootTicks())
	defer ownruntime.RelaxMonitor()()
	engine := s.engine(start, boot)
	var scouting sync.WaitGroup
	accounted, traced := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(accounted)
		s.account(cancel)
	}()
	if s.opts.Children {
		scouting.Go(func() {
			defer s.shared.Failure.Guard(cancel)
			s.scout(ctx)
		})
	}
	go func() {
		defer close(traced)
		engine.Run(ctx, cancel)
		cancel()
	}()
	if err := s.waitFor(ctx, traced, accounted); err != nil {
		// The runtime would wait for the thread that hangs, were anything of it changed now.
		cancel()
		return s.stats(engine), errors.Join(err, s.shared.Failure.Get())
	}
	<-traced
	undo()
	cancel()
	scouting.Wait()
	return s.stats(engine), s.shared.Failure.Get()
}

// engine makes the engine of the run, which begins at start, CLOCK_MONOTONIC ns, or boot in clock ticks after boot.
func (s *Sampler) engine(start int64, boot uint64) handover.Engine {
	if s.opts.engine != nil {
		return s.opts.engine(s.shared, s.control.Arriving())
	}
	return tracer.New(s.opts.looking(), s.control, s.shared, start, boot)
}

// account has the accountant handle events until the tracer has ended, and opens the processes that the scout finds. If
// that breaks down, it lets the rest pass, so that the tracer comes to its end.
func (s *Sampler) account(stop func()) {
	a, ring := s.acc, s.shared.Ring
	defer func() {
		s.passLeft()
		defer s.shared.Failure.Guard(nil)
		a.CloseAccounts(procmem.Now())
	}()
	defer s.shared.Failure.Guard(stop)
	for {
		select {
		case b, ok := <-ring.Batches():
			if !ok {
				return
			}
			a.Book(b)
			a.SaveIfAsked(s.bookWaiting)
		case f := <-s.found:
			a.WhileReading(func() { s.adopt(f) })
		case <-s.orphaned:
			s.bookWaiting()
			return
		}
	}
}

// bookWaiting books the batches that have come, without waiting for more.
func (s *Sampler) bookWaiting() {
	for {
		select {
		case b, ok := <-s.shared.Ring.Batches():
			if !ok {
				return // the end: the loop that called sees it too
			}
			s.acc.Book(b)
		default:
			return
		}
	}
}

// passLeft lets the batches pass that still come when the accountant has broken down: none if the tracer hangs.
func (s *Sampler) passLeft() {
	if closed(s.orphaned) {
		return
	}
	for b := range s.shared.Ring.Batches() {
		s.shared.Ring.Put(b)
	}
}

// CheckpointNow asks for a checkpoint at the next tick.
func (s *Sampler) CheckpointNow() { s.control.CheckpointNow() }

// Hold makes the sampler leave its targets alone until [Sampler.Resume]. Ticks are neither done nor counted as
// missed. Time goes on to be booked: as not observed, if it is long. It is for measurements of what the sampling
// costs, without and with, in one run.
func (s *Sampler) Hold() { s.control.Hold() }

// Resume ends what Hold began.
func (s *Sampler) Resume() { s.control.Resume() }

// Held reports whether a Hold has taken effect: nobody is stopped or asked to stop, but for
// threads that do not stop for seconds (in an uninterruptible sleep).
func (s *Sampler) Held() bool { return s.control.Held() }

// BootTicks gives the present moment as [Options.Launched] has it.
func BootTicks() uint64 { return tracer.BootTicks() }
