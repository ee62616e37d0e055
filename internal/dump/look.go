package dump

import (
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

// Options say how to look.
type Options struct {
	// MaxDepth limits the frames of a stack; negative: no limit.
	MaxDepth int
	// ReadOnly: never write a register.
	ReadOnly bool
	// Atomic: all threads are stopped, and let go together when all are copied.
	Atomic bool
	// Native: texts show the native frames that run managed ones, too.
	Native bool
	// Others are the processes that are looked at, too: whose threads may hold locks in shared memory.
	Others []int
	// Names gives the names, for one look at a time, of processes whose images are of one cache; nil: each look reads
	// its own. After [ErrHung] it may still be in use.
	Names *symbols.Namer
}

// collectFor bounds how long running threads are waited for, in nanoseconds. Nobody is stopped meanwhile: on a
// machine whose processors are fought for it is better to wait than to leave threads out.
const collectFor = 10e9

// shots is what the looks at a process gave.
type shots struct {
	threads []*look.Thread
	taken   map[*look.Thread]*look.Shot
	failed  map[string]int64
	pause   int64
	mu      sync.Mutex // of taken and failed
}

// soFar gives a copy of what there is: whoever looks may hang, and may go on one day.
func (g *shots) soFar() *shots {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &shots{taken: maps.Clone(g.taken), failed: maps.Clone(g.failed)}
}

// Sizes of the copy of a stack, in bytes: at first, for most stacks are small, and for
// a look that stops many at once, of all together.
const (
	firstCopy  = 256 << 10
	atomicCopy = 256 << 20
)

// Look looks at all threads of a process once. Threads that end meanwhile are left
// out. The error is that of listing the threads.
func Look(t *code.Process, o Options) (*Process, error) {
	got, err := takeAll(t, o)
	if err != nil && !errors.Is(err, ErrHung) {
		return nil, err
	}
	p := &Process{PID: t.PID, Name: t.Comm, Threads: []Thread{}, Failed: got.failed, Pause: time.Duration(got.pause),
		Native: o.Native}
	list := &list{name: t.Comm, err: err}
	hung := look.Watched(func() { list.describe(t, o, got) })
	p.Threads, p.Name, err = list.taken(hung)
	p.setTasks(list.takenTasks(), o.MaxDepth)
	p.slept = list.sleepers()
	p.sort()
	return p, err
}

// ErrHung is part of the error of [Look] when a read does not come back; what there is comes with it. Some of the
// threads may stand still until this process ends, as it then must.
var ErrHung = look.ErrHung

// list is what has been described so far.
type list struct {
	sync.Mutex
	name    string
	threads []Thread
	err     error // no more looks are to be made
	slept   map[int]*waits.Sleeper
	tasks   managed.TaskList
}

// takenTasks gives the tasks, none while they are still read.
func (l *list) takenTasks() managed.TaskList {
	l.Lock()
	defer l.Unlock()
	return l.tasks
}

// taken gives the list, which is over.
func (l *list) taken(hung error) ([]Thread, string, error) {
	l.Lock()
	defer l.Unlock()
	if l.err == nil {
		l.err = hung
	}
	return append([]Thread{}, l.threads...), l.name, l.err
}

// add adds a thread, and the error of looking at it again.
func (l *list) add(d Thread, err error) {
	l.Lock()
	defer l.Unlock()
	l.threads = append(l.threads, d)
	if l.err == nil {
		l.err = err
	}
}

// over reports whether no more looks are to be made.
func (l *list) over() bool {
	l.Lock()
	defer l.Unlock()
	return l.err != nil
}

// describe describes the threads.
func (l *list) describe(t *code.Process, o Options, got *shots) {
	_, _ = t.Refresh() // what was loaded since it was opened
	l.Lock()
	l.name = t.Comm
	l.Unlock()
	names := o.Names
	if names == nil {
		names = symbols.NewNamer()
		defer names.Close()
	}
	t.JITFuncs = names.JITFuncs(t.PID)
	w := &walk{pid: t.PID, names: names}
	w.MaxDepth = o.MaxDepth
	explain := explainerOf(t, names, waits.NewMembers(t.PID, o.Others))
	defer func() { l.keep(explain) }()
	for th, s := range got.taken {
		var err error
		d := describe(t, w, th.TID, s)
		for n := 0; n < moreLooks && s != nil && !o.Atomic && !l.over() && err == nil && askForMore(t, w, th, s, n); n++ {
			if s, err = again(th, o); s != nil {
				d = describe(t, w, th.TID, s)
			}
		}
		explain.explain(&d, s)
		l.add(l.lookAgain(t, w, explain, th, d, o), err)
	}
	l.rename(t)
	tasks := tasksOf(t) // it may hang
	l.Lock()
	l.tasks = tasks
	l.Unlock()
}

// keep keeps how the sleepers slept.
func (l *list) keep(x *explainer) {
	l.Lock()
	defer l.Unlock()
	l.slept = x.slept
}

// sleepers gives that, nothing while they are still described.
func (l *list) sleepers() map[int]*waits.Sleeper {
	l.Lock()
	defer l.Unlock()
	return l.slept
}

// moreLooks is how often a thread is looked at again: its stack can lack a register and then be deeper than what was
// copied, or go on elsewhere.
const moreLooks = 6

// moreCopy is how much of a stack is copied that was cut, in bytes; then four times as much each time. The end of the
// mapping says little of where the stack ends: those of goroutines lie in mappings of 64 MB.
const moreCopy = 1 << 20

// askForMore makes the next look at a thread, the one after n others, see what the last walk of it lacked. That is
// more of the stack, a register, or another stack, which a signal's handler or a function with a split stack
// returns to. False if it lacked nothing that can be had. A run-time system may need more than the stack, too.
func askForMore(t *code.Process, w *walk, th *look.Thread, s *look.Shot, n int) bool {
	planned := th.Walks().Plan(callstack.Plan(t.Namers(), innerTID(t, th.TID), s.Regs.TLS))
	switch w.StopReason() {
	case frames.StopStackCut:
		size := uint64(moreCopy) << (2 * n)
		sp, at := s.Regs.SP(), w.UnreadAddr()
		end := t.StackEnd(at)
		if w.Away() || end != t.StackEnd(sp) { // it is the other stack that is deep
			th.Walks().CopyOtherDeep(at, min(end-at+1<<16, size))
			return true
		}
		if end > sp {
			size = min(size, end-sp+1<<16)
		}
		th.Walks().CopyDeep(size)
	case frames.StopUnproven:
		th.Walks().Unproven(s)
	case frames.StopBadMemory:
		if t.StackEnd(w.UnreadAddr()) == 0 {
			return planned // nothing is there
		}
		th.Walks().CopyOther(w.UnreadAddr())
	default:
		return planned
	}
	return true
}

// again looks once more at a thread; nil if that fails.
func again(th *look.Thread, o Options) (*look.Shot, error) {
	got := &shots{threads: []*look.Thread{th}, taken: map[*look.Thread]*look.Shot{}, failed: map[string]int64{}}
	err := got.takeEach(o, look.AlwaysPeek)
	got = got.soFar()
	return got.taken[th], err
}

// onController calls f with a controller that has room for n threads, on an OS thread
// of its own.
//
// No garbage is collected meanwhile, and none any more when it hangs: the runtime would wait for that thread.
func onController(o Options, n int, f func(*ptrace.Controller, *look.Pool)) error {
	percent := debug.SetGCPercent(-1)
	err := look.OnWatchedThread(func() {
		c := ptrace.NewController(ptrace.Options{ReadOnly: o.ReadOnly, MaxPending: n + spareRoom})
		defer c.Close()
		f(c, look.NewPool(0))
	})
	if err == nil {
		debug.SetGCPercent(percent)
	}
	return err
}

// spareRoom is for threads that come meanwhile.
const spareRoom = 256

// takeAll looks at the threads on an OS thread of its own.
func takeAll(t *code.Process, o Options) (*shots, error) {
	tids, err := t.Threads(nil)
	if err != nil {
		return nil, err
	}
	got := &shots{taken: map[*look.Thread]*look.Shot{}, failed: map[string]int64{}}
	extra, plans := look.TaskStacks(t), &look.Plans{}
	plans.Store(callstack.FirstPlan(t.Namers()))
	add := func(tid int) *look.Thread {
		th := look.NewThread(t.PID, tid, nil)
		th.Walks().CopyUpTo(firstCopy)
		th.Extra, th.Memory, th.Plans = extra, t.Memory(), plans
		th.Walks().Plan(callstack.Plan(t.Namers(), innerTID(t, tid), 0))
		got.threads = append(got.threads, th)
		return th
	}
	if o.Atomic {
		if err := got.together(t, o, len(tids), add); err != nil {
			return got.soFar(), err
		}
		return got, nil
	}
	for _, tid := range tids {
		add(tid)
	}
	err = got.takeEach(o, look.Ladder)
	return got.soFar(), err
}

// together looks at all threads, those that come meanwhile included, at one moment.
func (g *shots) together(t *code.Process, o Options, n int, add func(int) *look.Thread) error {
	known := map[int]bool{}
	more := func() (fresh []*look.Thread) {
		tids, _ := t.Threads(nil) // it may have ended: no more then
		for _, tid := range tids {
			if !known[tid] {
				known[tid] = true
				th := add(tid)
				th.Walks().CopyUpTo(atomicCopy / max(n, 1))
				fresh = append(fresh, th)
			}
		}
		return fresh
	}
	return onController(o, n, func(c *ptrace.Controller, pool *look.Pool) {
		g.pause = look.FreezeAll(c, pool, more,
			g.done)
	})
}

// takeEach looks at each thread. If this process is stopped meanwhile, it goes on with the others afterwards, on
// another OS thread.
func (g *shots) takeEach(o Options, rung look.Rung) error {
	for todo := g.threads; len(todo) > 0; {
		left := make(chan []*look.Thread, 1)
		err := onController(o, len(todo), func(c *ptrace.Controller,
			pool *look.Pool) {
			left <- g.take(look.New(c, pool, rung), todo)
		})
		if err != nil {
			return err
		}
		todo = <-left
	}
	return nil
}

// take looks at some threads, and gives those that it had to leave out because this process is about to be
// stopped. At most as many as the controller has room for are pending at a time.
func (g *shots) take(l *look.Looker, todo []*look.Thread) (left []*look.Thread) {
	for i, th := range todo {
		if ptrace.Leaving() {
			left = slices.Clone(todo[i:])
			break
		}
		l.Serve(0, g.done) // nobody stays stopped while others are peeked at
		outcome, s, err := l.Begin(th)
		switch {
		case err != nil:
			g.done(th, nil, err)
		case outcome == look.Done:
			g.done(th, s, nil)
		case outcome == look.Pending:
			l.Collect(procmem.Now(), g.done)
		}
	}
	l.Collect(procmem.Now()+collectFor, g.done)
	if !ptrace.Leaving() {
		l.Abort(g.done)
		return left
	}
	l.Leave(func(th *look.Thread, s *look.Shot, err error) {
		if errors.Is(err, ptrace.ErrTimeout) {
			left = append(left, th)
			return
		}
		g.done(th, s, err)
	})
	return left
}

// done takes a look's result.
func (g *shots) done(th *look.Thread, s *look.Shot, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.taken[th] = s
		return
	}
	if r := look.Reason(err); r != refusal.Gone {
		g.failed[r.Word()]++
	}
}
