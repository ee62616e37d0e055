// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"prywalk/frames"
	"prywalk/internal/budget"
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/internal/namehints"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

// Options select the contents of a dump and the way of sampling.
type Options struct {
	// MaxDepth limits the frames of a stack; negative: no limit.
	MaxDepth int
	// ReadOnly forbids writing registers.
	ReadOnly bool
	// Atomic stops all threads until all are copied.
	Atomic bool
	// Native makes texts show the native frames that run managed ones.
	Native bool
	// Goroutines adds the stacks of goroutines without a thread.
	Goroutines bool
	// goroutineLocks adds what goroutines wait for and hold.
	goroutineLocks bool
	// Others are processes whose threads may hold locks in shared memory.
	Others []int
	// Names serves, one call at a time, processes that share an image cache; nil: each call makes its own. After
	// [ErrHung] it may still be in use.
	Names *symbols.Namer
	// MaxPause, if positive, bounds the expected length of a stop: less of a running thread's stack is copied.
	MaxPause time.Duration
	// Prywalk is the version for JSON.
	Prywalk string
}

func (o *Options) account(pid int) *budget.Account {
	return budget.Process().Whole(fmt.Sprintf("stacks of process %d", pid))
}

// collectFor bounds the wait for running threads, in ns. None of them is stopped meanwhile.
const collectFor = 10e9

// raws are the raw samples of a process.
type raws struct {
	threads []*observe.Thread
	taken   map[*observe.Thread]*observe.RawSample
	failed  map[string]int64
	pause   int64
	mu      sync.Mutex // of taken and failed
}

// the sampling goroutine may hang and continue later
func (g *raws) soFar() *raws {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &raws{taken: maps.Clone(g.taken), failed: maps.Clone(g.failed)}
}

// Bytes of stack: first copy of a thread, and all of an atomic dump.
const (
	firstCopy  = 256 << 10
	atomicCopy = 256 << 20
)

// copySpeed is a lower bound, in bytes per nanosecond.
const copySpeed = 1

func (o *Options) firstCopy() int {
	if o.MaxPause > 0 {
		return min(firstCopy, int(o.MaxPause)*copySpeed)
	}
	return firstCopy
}

// Sample samples all threads of a process once, except those that end meanwhile. The error is that of listing the
// threads.
func Sample(t *code.Process, o Options) (*Process, error) {
	origin := o.origin()
	got, err := takeAll(t, o)
	if err != nil && !errors.Is(err, ErrHung) {
		return nil, err
	}
	p := &Process{Origin: origin, PID: t.PID, Name: t.Comm, Threads: []Thread{}, Failed: got.failed,
		Pause: time.Duration(got.pause), Native: o.Native}
	p.memory = o.account(t.PID)
	list := &results{name: t.Comm, err: err, memory: p.memory}
	hung := observe.Watched(func() { list.describe(t, o, got) })
	p.Threads, p.Name, err = list.taken(hung)
	p.setTasks(list.takenTasks(), o.MaxDepth)
	p.Goroutines, p.Parked, p.GoroutineStacks = list.takenParked()
	p.program, p.link = list.takenProgram()
	p.slept = list.sleepers()
	p.sort()
	return p, err
}

// ErrHung is part of the error of [Sample] if a read does not return; the samples so far are returned. This process
// must exit: threads may be stopped until then.
var ErrHung = observe.ErrHung

// results are the described threads and what else a dump has. They can be taken while the describing goroutine hangs.
type results struct {
	sync.Mutex
	name    string
	threads []Thread
	err     error // sampling ends
	slept   map[int]*waits.Sleeper
	memory  *budget.Account
	tasks   managed.TaskList
	waiting *code.WaitingGoroutines
	parked  string // as text
	stacks  []Goroutine
	program namehints.Program
	link    string
}

func (l *results) takenTasks() managed.TaskList {
	l.Lock()
	defer l.Unlock()
	return l.tasks
}

func (l *results) takenParked() (*code.WaitingGoroutines, string, []Goroutine) {
	l.Lock()
	defer l.Unlock()
	return l.waiting, l.parked, l.stacks
}

func (l *results) goroutines(t *code.Process, w *walk, locks bool) {
	systems := t.Runtimes().Schedulers()
	if len(systems) == 0 {
		return
	}
	l.Lock()
	threads := slices.Clone(l.threads)
	l.Unlock()
	r := goroutineReader{read: t.Read, space: t.Space(), walk: w, now: procmem.Now(),
		locks: locks}
	defer r.close()
	stacks, err := r.readAll(systems, threads)
	l.Lock()
	defer l.Unlock()
	if l.threads, l.stacks = threads, stacks; err == nil { // else the line on their number has the reason
		l.parked = ""
	}
}

func (l *results) takenProgram() (namehints.Program, string) {
	l.Lock()
	defer l.Unlock()
	return l.program, l.link
}

func (l *results) taken(hung error) ([]Thread, string, error) {
	l.Lock()
	defer l.Unlock()
	if l.err == nil {
		l.err = hung
	}
	return append([]Thread{}, l.threads...), l.name, l.err
}

func (l *results) add(d Thread, err error) {
	l.Lock()
	defer l.Unlock()
	l.threads = append(l.threads, d)
	if l.err == nil {
		l.err = err
	}
}

func (l *results) hasEnded() bool {
	l.Lock()
	defer l.Unlock()
	return l.err != nil
}

// describe walks and names the samples, repeats those that lacked something, and adds what is known of the process.
func (l *results) describe(t *code.Process, o Options, got *raws) {
	_, _ = t.Refresh() // code loaded after opening
	l.Lock()
	l.name = t.Comm
	l.Unlock()
	names := o.Names
	if names == nil {
		names = symbols.NewNamer()
		defer names.Close()
	}
	t.JITFuncs = names.JITFuncs(t.PID)
	w := newWalk(t.PID, names, l.memory)
	w.MaxDepth = o.MaxDepth
	explain := explainerOf(t, names, waits.NewLiveThreads(t.PID, o.Others))
	defer func() { l.keepSleepers(explain) }()
	for th, s := range got.taken {
		var err error
		d := describe(t, w, th.TID, s)
		copied := int64(0) // bytes
		for n := 0; n < moreSamples && s != nil && !o.Atomic && !l.hasEnded() && err == nil; n++ {
			more := copyMore{stack: uint64(moreCopy) << (2 * n), memory: l.memory, taken: &copied, pause: o.MaxPause}
			if w.full || !more.planNext(t, w, th, s) {
				break
			}
			if s, err = sampleAgain(th, o); s != nil {
				w.drop(&d)
				d = describe(t, w, th.TID, s)
			}
		}
		l.memory.Give(copied)
		explain.explain(&d, s)
		l.add(l.sampleAgain(t, w, explain, th, d, o), err)
	}
	l.rename(t)
	tasks := tasksOf(t) // it may hang
	l.Lock()
	l.tasks = tasks
	l.Unlock()
	waiting, parked := t.Runtimes().WaitingGoroutines()
	program, link := programOf(t.Space(), t.Runtimes().Namers(), t.PID), ""
	if m := t.Main(); m != nil && code.NameOf(m) != m.Name {
		link = m.Name
	}
	l.Lock()
	l.waiting, l.parked, l.program, l.link = waiting, parked, program, link
	l.Unlock()
	if o.Goroutines && !l.hasEnded() {
		w.MaxDepth = o.MaxDepth
		l.goroutines(t, w, o.goroutineLocks)
	}
}

func (l *results) keepSleepers(x *explainer) {
	l.Lock()
	defer l.Unlock()
	l.slept = x.slept
}

func (l *results) sleepers() map[int]*waits.Sleeper {
	l.Lock()
	defer l.Unlock()
	return l.slept
}

// moreSamples bounds a thread's samples: its stack may lack a register, be deeper than the copy, or continue elsewhere.
const moreSamples = 6

// moreCopy is the number of further bytes, times four at each repetition. The mapping's end is no bound: 64 MB around
// goroutines' stacks.
const moreCopy = 1 << 20

// copyMore plans and bounds further copies of one thread.
type copyMore struct {
	stack  uint64 // bytes
	memory *budget.Account
	taken  *int64        // bytes, of this thread's copies
	pause  time.Duration // longest stop of a running thread; 0: no bound
}

// planNext plans what the last walk lacked: more stack, a register, another stack (signal handler, split stack), a
// run-time system's data. False if nothing copyable was missing.
func (m *copyMore) planNext(t *code.Process, w *walk, th *observe.Thread, s *observe.RawSample) bool {
	planned := th.Feedback().Plan(callstack.Plan(t.Runtimes().Namers(), innerTID(t, th.TID), s.Regs.TLS))
	switch w.StopReason() {
	case frames.StopStackCut:
		size := m.stack
		sp, at := s.Regs.SP(), w.UnreadAddr()
		end := t.StackEnd(at)
		away := w.Away() || end != t.StackEnd(sp)
		if away {
			size = min(end-at+1<<16, size)
		} else if end > sp {
			size = min(size, end-sp+1<<16)
		}
		if size = min(size, m.bytesWithinPause(s)); size <= uint64(s.Copied()) || !m.charge(int64(size)) {
			return planned
		}
		if away {
			th.Feedback().CopyOtherDeep(at, size)
		} else {
			th.Feedback().CopyDeep(size)
		}
	case frames.StopUnproven:
		th.Feedback().Unproven(s)
	case frames.StopBadMemory:
		if t.StackEnd(w.UnreadAddr()) == 0 {
			return planned
		}
		th.Feedback().CopyOther(w.UnreadAddr())
	default:
		return planned
	}
	return true
}

// bytesWithinPause estimates the bytes of stack for the permitted stop, from the last one. Sleepers need no stop.
func (m *copyMore) bytesWithinPause(s *observe.RawSample) uint64 {
	if m.pause <= 0 || s.How != observe.ByStop {
		return math.MaxUint64
	}
	rest := int64(m.pause) - max(s.StopTime-s.CopyTime, 0) // not spent copying
	return uint64(float64(s.Copied()) * float64(max(rest, 0)) / float64(max(s.CopyTime, 1)))
}

// charge charges a copy instead of earlier ones.
func (m *copyMore) charge(size int64) bool {
	more := size - *m.taken
	if more > 0 && m.memory.Take(more, "stacks") != nil {
		return false
	}
	*m.taken = max(*m.taken, size)
	return true
}

func sampleAgain(th *observe.Thread, o Options) (*observe.RawSample, error) {
	got := &raws{threads: []*observe.Thread{th}, taken: map[*observe.Thread]*observe.RawSample{},
		failed: map[string]int64{}}
	err := got.sampleEach(o, observe.ModeNoReuse)
	got = got.soFar()
	return got.taken[th], err
}

// onController calls f with a controller for n threads, on an OS thread of its own. Garbage collection is off
// meanwhile, also after a hang: it would wait for that thread.
func onController(o Options, n int, f func(*ptrace.Controller, *observe.Pool)) error {
	percent := debug.SetGCPercent(-1)
	err := observe.OnWatchedThread(func() {
		c := ptrace.NewController(ptrace.Options{ReadOnly: o.ReadOnly, MaxPending: n + spareRoom})
		defer c.Close()
		f(c, observe.NewPool(0))
	})
	if err == nil {
		debug.SetGCPercent(percent)
	}
	return err
}

const spareRoom = 256

func takeAll(t *code.Process, o Options) (*raws, error) {
	tids, err := t.Threads(nil)
	if err != nil {
		return nil, err
	}
	got := &raws{taken: map[*observe.Thread]*observe.RawSample{}, failed: map[string]int64{}}
	extra, plans := observe.TaskStacks(t), &observe.Plans{}
	plans.Store(callstack.FirstPlan(t.Runtimes().Namers()))
	add := func(tid int) *observe.Thread {
		th := observe.NewThread(t.PID, tid, nil)
		th.Feedback().CopyUpTo(o.firstCopy())
		th.Extra, th.Memory, th.Plans = extra, t.Memory(), plans
		th.Feedback().Plan(callstack.Plan(t.Runtimes().Namers(), innerTID(t, tid), 0))
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

// sampleAtOnce samples all threads at one moment, including new ones.
func (g *raws) sampleAtOnce(t *code.Process, o Options, n int, add func(int) *observe.Thread) error {
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
		g.pause = observe.StopAll(c, pool, more,
			g.note)
	})
}

// sampleEach continues on another OS thread after prywalk was stopped.
func (g *raws) sampleEach(o Options, rung observe.Mode) error {
	for todo := g.threads; len(todo) > 0; {
		left := make(chan []*observe.Thread, 1)
		err := onController(o, len(todo), func(c *ptrace.Controller,
			pool *observe.Pool) {
			l := observe.New(c, pool, rung)
			l.LimitPause(o.MaxPause)
			left <- g.sampleSome(l, todo)
		})
		if err != nil {
			return err
		}
		todo = <-left
	}
	return nil
}

// sampleSome gives the threads left out because prywalk is about to be stopped. The controller's room bounds the
// pending stops.
func (g *raws) sampleSome(l *observe.Observer, todo []*observe.Thread) (left []*observe.Thread) {
	for i, th := range todo {
		if ptrace.Leaving() {
			left = slices.Clone(todo[i:])
			break
		}
		l.Serve(0, g.note) // no stops during passive reads
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
	if !ptrace.Leaving() {
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

func (g *raws) note(th *observe.Thread, s *observe.RawSample, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.taken[th] = s
		return
	}
	if r := observe.Reason(err); r != refusal.Gone {
		g.failed[r.Word()]++
	}
}
