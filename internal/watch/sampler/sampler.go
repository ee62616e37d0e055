// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/aggregator"
	"prywalk/internal/watch/target"
	"prywalk/internal/watch/tracer"
)

// Sampler samples processes into a recording.
type Sampler struct {
	opts       target.SamplingOptions
	builder    *profile.Builder
	images     *loadedcode.ImageCache
	control    *tracer.Control
	common     *target.Common
	aggregator *aggregator.Aggregator
	found      chan foundProcess
	taskTimer  *time.Timer // of the aggregator's goroutine
	// hung is closed if tracer or aggregator hang.
	hung chan struct{}

	unopened unopened

	mu      sync.Mutex
	refused map[string]int64                 // by reason; nil means none
	targets map[*loadedcode.Process]struct{} // not closed yet
}

// minArriving is the least length of the tracer's queue.
const minArriving = 1024

// New prepares sampling of procs, which the Sampler closes.
func New(o target.SamplingOptions, b *profile.Builder, images *loadedcode.ImageCache,
	procs []*loadedcode.Process) *Sampler {
	o.WatchWithin = cmp.Or(o.WatchWithin, watchWithin)
	if len(o.Sinks) == 0 {
		o.WatchEvery = 0
	}
	s := &Sampler{
		opts: o, builder: b, images: images, control: tracer.NewControl(max(minArriving, len(procs))),
		common: target.NewCommon(), found: make(chan foundProcess), hung: make(chan struct{}),
		targets: map[*loadedcode.Process]struct{}{},
	}
	if o.LowOverhead {
		s.common.Garbage.LowMemory = true
		s.common.Pool.SetLowMemory()
	}
	s.aggregator = aggregator.New(&s.opts, b, images, s.closeTarget, s.common)
	for _, process := range procs {
		s.add(process, false, 0)
	}
	return s
}

// add passes a process to the tracer, or closes it and returns false if the queue is full. child means that its time
// counts from its start.
func (s *Sampler) add(process *loadedcode.Process, child bool, parent int) bool {
	if s.opts.JITFuncBounds != nil {
		process.JITFuncBounds = s.opts.JITFuncBounds(process.PID)
	}
	s.mu.Lock()
	s.targets[process] = struct{}{}
	s.mu.Unlock()
	p := target.NewProcess(process, child, parent)
	if child {
		s.aggregator.ApplyKnownProgram(p)
	}
	if s.control.Admit(p) {
		return true
	}
	p.CloseTaskDir()
	s.closeTarget(process)
	return false
}

func (s *Sampler) closeTarget(process *loadedcode.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.targets[process]; ok {
		delete(s.targets, process)
		_ = process.Close()
	}
}

// PIDs returns the processes that are sampled now, in their order. It is safe for concurrent use.
func (s *Sampler) PIDs() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	pids := make([]int, 0, len(s.targets))
	for process := range s.targets {
		pids = append(pids, process.PID)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// Close closes the processes.
func (s *Sampler) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for process := range s.targets {
		errs = append(errs, process.Close())
	}
	clear(s.targets)
	return errors.Join(errs...)
}

// Run samples until ctx ends or the last process has ended. The Builder then has the whole recording; after an error,
// the samples until then. After [ErrHung] a target may be stopped until this process exits, which it then must.
func (s *Sampler) Run(ctx context.Context) (runstats.Stats, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	undo := selfruntime.DisableAutoGC(s.opts.LowOverhead)
	start, boot := procmem.Moment(), cmp.Or(s.opts.Launched, procmem.BootTicks())
	t := tracer.New(s.opts, s.control, s.common, start, boot)
	var discovery sync.WaitGroup
	aggregatorDone, tracerDone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(aggregatorDone)
		s.runAggregator(cancel)
	}()
	if s.opts.Children || s.opts.Select != nil {
		discovery.Go(func() {
			defer s.common.Failure.Guard(cancel)
			s.discover(ctx)
		})
	}
	go func() {
		defer close(tracerDone)
		t.Run(ctx, cancel)
		cancel()
	}()
	if err := s.waitFor(ctx, tracerDone, aggregatorDone); err != nil {
		// A hanging thread blocks a change of the runtime's state.
		cancel()
		return s.stats(t), errors.Join(err, s.common.Failure.Get())
	}
	<-tracerDone
	undo()
	cancel()
	discovery.Wait()
	return s.stats(t), s.common.Failure.Get()
}

// runAggregator runs until the tracer has ended. After a failure it discards the rest, so that the tracer can end.
func (s *Sampler) runAggregator(stop func()) {
	defer func() {
		s.discardRest()
		defer s.common.Failure.Guard(nil)
		s.aggregator.CloseAccounts(procmem.Moment())
	}()
	defer s.common.Failure.Guard(stop)
	s.taskTimer = time.NewTimer(0)
	defer s.taskTimer.Stop()
	s.handleArrivals(nil, nil)
}

// handleArrivals handles what arrives, calls included, until done is closed; if done is nil, until the tracer has
// ended, and writes checkpoints. It returns early after a hang.
func (s *Sampler) handleArrivals(calls <-chan func(), done <-chan struct{}) {
	a, batches := s.aggregator, s.common.Queue.Batches()
	for {
		select {
		case <-s.taskTimer.C:
			s.taskTimer.Reset(s.pollTasks())
		case b, ok := <-batches:
			switch {
			case !ok && done == nil:
				return
			case !ok:
				batches = nil
				continue
			}
			a.Handle(b)
			if done == nil {
				a.SaveIfAsked(checkpointing{s})
			}
		case f := <-s.found:
			s.openFound(f)
		case f := <-calls:
			f()
		case <-done:
			return
		case <-s.hung:
			s.handleQueued()
			return
		}
	}
}

const heldPollInterval = 500 * time.Millisecond

// pollTasks returns the time until the next call.
func (s *Sampler) pollTasks() time.Duration {
	if s.control.Held() {
		return heldPollInterval
	}
	return s.aggregator.PollTasks()
}

func (s *Sampler) handleQueued() {
	for {
		select {
		case b, ok := <-s.common.Queue.Batches():
			if !ok {
				return
			}
			s.aggregator.Handle(b)
		default:
			return
		}
	}
}

func (s *Sampler) discardRest() {
	if isClosed(s.hung) {
		return
	}
	for b := range s.common.Queue.Batches() {
		s.common.Queue.Put(b)
	}
}

// CheckpointNow asks for a checkpoint at the next tick.
func (s *Sampler) CheckpointNow() { s.control.CheckpointNow() }

// Hold is [tracer.Control.Hold]. Ticks are neither made nor missed; a long Hold is attributed as not observed.
func (s *Sampler) Hold() { s.control.Hold() }

// Resume ends a Hold.
func (s *Sampler) Resume() { s.control.Resume() }

// Held is [tracer.Control.Held].
func (s *Sampler) Held() bool { return s.control.Held() }

// checkpointing is of a sampler.
type checkpointing struct{ sampler *Sampler }

// Yield implements [target.Checkpointing].
func (c checkpointing) Yield() { c.sampler.handleQueued() }

// InBackground implements [target.Checkpointing].
func (c checkpointing) InBackground(work func(here func(func()))) {
	done, gone, calls := make(chan struct{}), make(chan struct{}), make(chan func())
	defer close(gone)
	go func() {
		defer close(done)
		defer c.sampler.common.Failure.Guard(nil)
		work(func(f func()) {
			ran := make(chan struct{})
			select {
			case <-gone:
			case calls <- func() { defer close(ran); f() }:
				<-ran
			}
		})
	}()
	c.sampler.handleArrivals(calls, done)
}
