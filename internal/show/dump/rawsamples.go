// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

// collectFor bounds the wait for running threads.
const collectFor = 10 * time.Second

// The goroutine that takes the samples may hang, and go on later.
type rawSamples struct {
	threads []*observe.Thread
	pause   time.Duration // of [Options].Atomic

	mu      sync.Mutex
	taken   map[*observe.Thread]*observe.RawSample
	failed  map[string]int64
	refused []*observe.Thread // they may be sampled at another moment
}

func newRawSamples(threads ...*observe.Thread) *rawSamples {
	return &rawSamples{threads: threads, taken: map[*observe.Thread]*observe.RawSample{}, failed: map[string]int64{}}
}

func (raw *rawSamples) soFar() *rawSamples {
	raw.mu.Lock()
	defer raw.mu.Unlock()
	return &rawSamples{taken: maps.Clone(raw.taken), failed: maps.Clone(raw.failed)}
}

// ended reports that all threads had ended before they were sampled.
func (raw *rawSamples) ended() bool {
	for word := range raw.failed {
		if word != errs.Zombie.Word() {
			return false
		}
	}
	return len(raw.taken) == 0
}

// Bytes of stack: in a thread's first copy, in all copies of an atomic dump.
const (
	firstCopySize  = 256 << 10
	atomicCopySize = 256 << 20
)

// copySpeed is the assumed speed of copying in a stop, in bytes per nanosecond.
const copySpeed = 1

// firstCopy returns the bytes of the first copy of a thread's stack.
func (o *Options) firstCopy() int {
	if o.MaxPause > 0 {
		return min(firstCopySize, int(o.MaxPause)*copySpeed)
	}
	return firstCopySize
}

// newThread returns a thread to sample. The caller closes it.
func (o *Options) newThread(t *loadedcode.Process, tid int) *observe.Thread {
	th := observe.NewThread(t.PID, tid, nil)
	th.Feedback().SetCopySize(o.firstCopy())
	th.Memory = t.Memory()
	return th
}

// sampleAll fails if the threads cannot be listed, or with [ErrHung] and the samples so far.
func sampleAll(t *loadedcode.Process, o Options) (*rawSamples, error) {
	tids, err := t.Threads(nil)
	if err != nil {
		return nil, err
	}
	got := newRawSamples()
	tasks, plans := observe.NewTaskStacks(t), &observe.Plans{}
	plans.Store(callstack.FirstPlans(t.Runtimes().FrameSources()))
	add := func(tid int) *observe.Thread {
		th := o.newThread(t, tid)
		th.OtherMemory, th.Plans = tasks, plans
		th.Feedback().SetPlan(callstack.Plan(t.Runtimes().FrameSources(), walk.InnerTID(t, tid), 0))
		got.threads = append(got.threads, th)
		return th
	}
	if o.Atomic {
		if err := got.sampleAtOnce(t, o, len(tids), add); err != nil {
			return got.soFar(), err
		}
		return got, nil
	}
	for _, tid := range tids {
		add(tid)
	}
	err = got.sampleEach(o, observe.ModeAuto)
	return got.soFar(), err
}

func sampleThread(th *observe.Thread, o Options, mode observe.Mode) (*observe.RawSample, error) {
	got := newRawSamples(th)
	err := got.sampleEach(o, mode)
	return got.soFar().taken[th], err
}

func (raw *rawSamples) sampleAtOnce(t *loadedcode.Process, o Options, n int, add func(int) *observe.Thread) error {
	known := map[int]bool{}
	more := func() (fresh []*observe.Thread) {
		tids, _ := t.Threads(nil) // none after its end
		for _, tid := range tids {
			if !known[tid] {
				known[tid] = true
				th := add(tid)
				th.Feedback().SetCopySize(atomicCopySize / max(n, 1))
				fresh = append(fresh, th)
			}
		}
		return fresh
	}
	return onController(o, n, func(c *ptrace.Controller, pool *observe.Pool) {
		raw.pause = observe.StopAll(c, pool, more, raw.store)
	})
}

// A stop can be refused for what holds at one moment only, above all on a busy host.
const (
	maxRefusals = 5
	refusalWait = 2 * time.Millisecond
)

func (raw *rawSamples) sampleEach(o Options, mode observe.Mode) error {
	todo := raw.threads
	for n := 0; len(todo) > 0; n++ {
		if err := raw.sampleOnce(o, mode, todo); err != nil || n == maxRefusals {
			return err
		}
		if todo = raw.takeRefused(); len(todo) > 0 {
			time.Sleep(refusalWait)
		}
	}
	return nil
}

// takeRefused returns the threads to try again, which no longer count as failed.
func (raw *rawSamples) takeRefused() []*observe.Thread {
	raw.mu.Lock()
	defer raw.mu.Unlock()
	threads := raw.refused
	raw.refused = nil
	delete(raw.failed, errs.MaxPause.Word())
	delete(raw.failed, errs.MapLock.Word())
	return threads
}

func (raw *rawSamples) sampleOnce(o Options, mode observe.Mode, todo []*observe.Thread) error {
	for len(todo) > 0 {
		left := make(chan []*observe.Thread, 1)
		err := onController(o, len(todo), func(c *ptrace.Controller, pool *observe.Pool) {
			observer := observe.New(c, pool, mode)
			observer.LimitStops(o.MaxPause)
			left <- raw.sampleSome(observer, todo)
		})
		if err != nil {
			return err
		}
		todo = <-left
	}
	return nil
}

func (raw *rawSamples) sampleSome(observer *observe.Observer, todo []*observe.Thread) (unsampled []*observe.Thread) {
	for i, th := range todo {
		if ptrace.Suspending() {
			unsampled = slices.Clone(todo[i:])
			break
		}
		for raw.take(observer.Stops.NextStopped(0)) { // no stops during passive reads
		}
		outcome, s, err := observer.Begin(th)
		switch {
		case err != nil:
			raw.store(th, nil, err)
		case outcome == observe.Done:
			raw.store(th, s, nil)
		case outcome == observe.Pending:
			for now := ptrace.Now(); raw.take(observer.Stops.Next(now)); {
			}
		}
	}
	for until := ptrace.Now().Add(collectFor); raw.take(observer.Stops.Next(until)); {
	}
	suspending := ptrace.Suspending()
	if suspending {
		for until := observer.Stops.AcknowledgeSuspend(); observer.Stops.PendingStops() > 0 &&
			raw.take(observer.Stops.Next(until)); {
		}
	}
	for _, th := range todo {
		switch {
		case !observer.Stops.Cancel(th):
		case suspending:
			unsampled = append(unsampled, th)
		default:
			raw.store(th, nil, ptrace.ErrTimeout)
		}
	}
	return unsampled
}

// take stores the result of a stop that has ended. It returns false if th is nil, as none has ended.
func (raw *rawSamples) take(th *observe.Thread, s *observe.RawSample, err error) bool {
	if th != nil {
		raw.store(th, s, err)
	}
	return th != nil
}

func (raw *rawSamples) store(th *observe.Thread, s *observe.RawSample, err error) {
	raw.mu.Lock()
	defer raw.mu.Unlock()
	if err == nil {
		raw.taken[th] = s
		return
	}
	switch r := observe.Reason(err); r {
	case errs.Exited:
	case errs.MaxPause, errs.MapLock:
		raw.refused = append(raw.refused, th)
		fallthrough
	default:
		raw.failed[r.Word()]++
	}
}

// onController calls f on its own OS thread, with a controller for n threads. Garbage collection, which would wait for
// that thread, is off meanwhile, and stays off after a hang.
func onController(o Options, n int, f func(*ptrace.Controller, *observe.Pool)) error {
	percent := debug.SetGCPercent(-1)
	err := selfhang.OnWatchedThread(func() {
		c := ptrace.NewController(ptrace.Options{ReadOnly: o.ReadOnly, MaxPending: n + spareRoom})
		defer c.Close()
		f(c, observe.NewPool(0))
	})
	if err == nil {
		debug.SetGCPercent(percent)
	}
	return err
}

const spareRoom = 256 // pending stops, of threads that start meanwhile
