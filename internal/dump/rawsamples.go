// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"prywalk/internal/callstack"
	"prywalk/internal/dump/walk"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/observe/hang"
	"prywalk/internal/observe/taskstack"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/ptrace"
)

// collectFor bounds the wait for running threads, ns.
const collectFor = 10e9

// rawSamples are a process's samples. The sampling goroutine may hang and go on later.
type rawSamples struct {
	threads []*observe.Thread
	pause   int64 // ns; of [Options].Atomic

	mu     sync.Mutex // of the following
	taken  map[*observe.Thread]*observe.RawSample
	failed map[string]int64
}

func newRawSamples(threads ...*observe.Thread) *rawSamples {
	return &rawSamples{threads: threads, taken: map[*observe.Thread]*observe.RawSample{}, failed: map[string]int64{}}
}

func (g *rawSamples) soFar() *rawSamples {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &rawSamples{taken: maps.Clone(g.taken), failed: maps.Clone(g.failed)}
}

// Bytes of stack: of a thread's first copy, and of all in an atomic dump.
const (
	firstCopy  = 256 << 10
	atomicCopy = 256 << 20
)

// copySpeed is a lower bound, bytes/ns.
const copySpeed = 1

func (o *Options) firstCopy() int {
	if o.MaxPause > 0 {
		return min(firstCopy, int(o.MaxPause)*copySpeed)
	}
	return firstCopy
}

// sampleAll gives the error of listing the threads, or [ErrHung].
func sampleAll(t *loadedcode.Process, o Options) (*rawSamples, error) {
	tids, err := t.Threads(nil)
	if err != nil {
		return nil, err
	}
	got := newRawSamples()
	tasks, plans := taskstack.Of(t), &observe.Plans{}
	plans.Store(callstack.FirstPlan(t.Runtimes().FrameSources()))
	add := func(tid int) *observe.Thread {
		th := observe.NewThread(t.PID, tid, nil)
		th.Feedback().CopyUpTo(o.firstCopy())
		th.OtherMemory, th.Memory, th.Plans = tasks, t.Memory(), plans
		th.Feedback().Plan(callstack.Plan(t.Runtimes().FrameSources(), walk.InnerTID(t, tid), 0))
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

// sampleThread gives nil if sampling fails. Error: [ErrHung].
func sampleThread(th *observe.Thread, o Options, mode observe.Mode) (*observe.RawSample, error) {
	got := newRawSamples(th)
	err := got.sampleEach(o, mode)
	return got.soFar().taken[th], err
}

// sampleAtOnce samples all threads at one moment, also new ones.
func (g *rawSamples) sampleAtOnce(t *loadedcode.Process, o Options, n int, add func(int) *observe.Thread) error {
	known := map[int]bool{}
	more := func() (fresh []*observe.Thread) {
		tids, _ := t.Threads(nil) // none after its end
		for _, tid := range tids {
			if !known[tid] {
				known[tid] = true
				th := add(tid)
				th.Feedback().CopyUpTo(atomicCopy / max(n, 1))
				fresh = append(fresh, th)
			}
		}
		return fresh
	}
	return onController(o, n, func(c *ptrace.Controller, pool *observe.Pool) {
		g.pause = observe.StopAll(c, pool, more, g.note)
	})
}

// sampleEach goes on, on another OS thread, after prywalk was stopped by a signal.
func (g *rawSamples) sampleEach(o Options, mode observe.Mode) error {
	for todo := g.threads; len(todo) > 0; {
		left := make(chan []*observe.Thread, 1)
		err := onController(o, len(todo), func(c *ptrace.Controller, pool *observe.Pool) {
			l := observe.New(c, pool, mode)
			l.LimitStops(o.MaxPause)
			left <- g.sampleSome(l, todo)
		})
		if err != nil {
			return err
		}
		todo = <-left
	}
	return nil
}

// sampleSome gives the threads left when prywalk is about to be stopped.
func (g *rawSamples) sampleSome(l *observe.Observer, todo []*observe.Thread) (left []*observe.Thread) {
	for i, th := range todo {
		if ptrace.Suspending() {
			left = slices.Clone(todo[i:])
			break
		}
		l.FinishStopped(0, g.note) // no stops during passive reads
		outcome, s, err := l.Begin(th)
		switch {
		case err != nil:
			g.note(th, nil, err)
		case outcome == observe.Done:
			g.note(th, s, nil)
		case outcome == observe.Pending:
			l.Collect(procmem.Now(), g.note)
		}
	}
	l.Collect(procmem.Now()+collectFor, g.note)
	if !ptrace.Suspending() {
		l.Abort(g.note)
		return left
	}
	l.Leave(func(th *observe.Thread, s *observe.RawSample, err error) {
		if errors.Is(err, ptrace.ErrTimeout) {
			left = append(left, th)
			return
		}
		g.note(th, s, err)
	})
	return left
}

func (g *rawSamples) note(th *observe.Thread, s *observe.RawSample, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.taken[th] = s
		return
	}
	if r := observe.Reason(err); r != refusal.Exited {
		g.failed[r.Word()]++
	}
}

// onController calls f with a controller for n threads on an OS thread of its own. Garbage collection, which would wait
// for that, is off meanwhile, and after a hang.
func onController(o Options, n int, f func(*ptrace.Controller, *observe.Pool)) error {
	percent := debug.SetGCPercent(-1)
	err := hang.OnWatchedThread(func() {
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
