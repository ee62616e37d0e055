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
	"prywalk/internal/look"
	"prywalk/internal/managed"
	"prywalk/internal/namehints"
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
	// MaxPause, if positive: no stop is begun that is expected to take longer, and less of a running thread's stack is
	// copied instead.
	MaxPause time.Duration
	// Prywalk is the version for JSON.
	Prywalk string
}

// account opens the account of a process's stacks.
func (o *Options) account(pid int) *budget.Account {
	return budget.Process().Whole(fmt.Sprintf("stacks of process %d", pid))
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

// copySpeed is how many bytes of a stack are copied in a nanosecond, at least, as long as nothing is known of a thread.
const copySpeed = 1

// firstCopy is how much of a stack is copied at first.
func (o *Options) firstCopy() int {
	if o.MaxPause > 0 {
		return min(firstCopy, int(o.MaxPause)*copySpeed)
	}
	return firstCopy
}

// Look looks at all threads of a process once. Threads that end meanwhile are left
// out. The error is that of listing the threads.
func Look(t *code.Process, o Options) (*Process, error) {
	origin := o.origin()
	got, err := takeAll(t, o)
	if err != nil && !errors.Is(err, ErrHung) {
		return nil, err
	}
	p := &Process{Origin: origin, PID: t.PID, Name: t.Comm, Threads: []Thread{}, Failed: got.failed,
		Pause: time.Duration(got.pause), Native: o.Native}
	p.memory = o.account(t.PID)
	list := &list{name: t.Comm, err: err, memory: p.memory}
	hung := look.Watched(func() { list.describe(t, o, got) })
	p.Threads, p.Name, err = list.taken(hung)
	p.setTasks(list.takenTasks(), o.MaxDepth)
	p.Goroutines, p.Parked = list.takenParked()
	p.program, p.link = list.takenProgram()
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
	memory  *budget.Account
	tasks   managed.TaskList
	waiting *code.WaitingGoroutines
	parked  string // the same for people
	program namehints.Program
	link    string
}

// takenTasks gives the tasks, none while they are still read.
func (l *list) takenTasks() managed.TaskList {
	l.Lock()
	defer l.Unlock()
	return l.tasks
}

// takenParked gives the number of goroutines and the line on them, none while they are still counted.
func (l *list) takenParked() (*code.WaitingGoroutines, string) {
	l.Lock()
	defer l.Unlock()
	return l.waiting, l.parked
}

// takenProgram gives what the process maps, and its program's file, if people know that by another name.
func (l *list) takenProgram() (namehints.Program, string) {
	l.Lock()
	defer l.Unlock()
	return l.program, l.link
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
	w := newWalk(t.PID, names, l.memory)
	w.MaxDepth = o.MaxDepth
	explain := explainerOf(t, names, waits.NewMembers(t.PID, o.Others))
	defer func() { l.keep(explain) }()
	for th, s := range got.taken {
		var err error
		d := describe(t, w, th.TID, s)
		copied := int64(0) // of the stack's memory
		for n := 0; n < moreLooks && s != nil && !o.Atomic && !l.over() && err == nil; n++ {
			more := copyMore{stack: uint64(moreCopy) << (2 * n), memory: l.memory, taken: &copied, pause: o.MaxPause}
			if w.full || !more.ask(t, w, th, s) {
				break
			}
			if s, err = again(th, o); s != nil {
				w.drop(&d)
				d = describe(t, w, th.TID, s)
			}
		}
		l.memory.Give(copied)
		explain.explain(&d, s)
		l.add(l.lookAgain(t, w, explain, th, d, o), err)
	}
	l.rename(t)
	tasks := tasksOf(t) // it may hang
	l.Lock()
	l.tasks = tasks
	l.Unlock()
	waiting, parked := t.WaitingGoroutines()
	program, link := programOf(t.Space(), t.Namers(), t.PID), ""
	if m := t.Main(); m != nil && code.NameOf(m) != m.Name {
		link = m.Name
	}
	l.Lock()
	l.waiting, l.parked, l.program, l.link = waiting, parked, program, link
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

// copyMore is how much more of a stack a further look may copy.
type copyMore struct {
	stack  uint64 // bytes
	memory *budget.Account
	taken  *int64        // of memory, for this thread's copies
	pause  time.Duration // a running thread may be stopped for; 0: of no bound
}

// ask makes the next look at a thread see what the last walk of it lacked. That is
// more of the stack, a register, or another stack, which a signal's handler or a function with a split stack
// returns to. False if it lacked nothing that can be had. A run-time system may need more than the stack, too.
func (m *copyMore) ask(t *code.Process, w *walk, th *look.Thread, s *look.Shot) bool {
	planned := th.Walks().Plan(callstack.Plan(t.Namers(), innerTID(t, th.TID), s.Regs.TLS))
	switch w.StopReason() {
	case frames.StopStackCut:
		size := m.stack
		sp, at := s.Regs.SP(), w.UnreadAddr()
		end := t.StackEnd(at)
		away := w.Away() || end != t.StackEnd(sp) // it is the other stack that is deep
		if away {
			size = min(end-at+1<<16, size)
		} else if end > sp {
			size = min(size, end-sp+1<<16)
		}
		if size = min(size, m.within(s)); size <= uint64(s.Copied()) || !m.take(int64(size)) {
			return planned
		}
		if away {
			th.Walks().CopyOtherDeep(at, size)
		} else {
			th.Walks().CopyDeep(size)
		}
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

// within gives how many bytes of stack can be copied in a stop of the length that is allowed, going by the last stop.
// A sleeper is not stopped for it.
func (m *copyMore) within(s *look.Shot) uint64 {
	if m.pause <= 0 || s.How != look.ByFreeze {
		return math.MaxUint64
	}
	rest := int64(m.pause) - max(s.Stopped-s.Copying, 0) // what is not for the copy
	return uint64(float64(s.Copied()) * float64(max(rest, 0)) / float64(max(s.Copying, 1)))
}

// take takes memory for a copy of the stack, in place of those before.
func (m *copyMore) take(size int64) bool {
	more := size - *m.taken
	if more > 0 && m.memory.Take(more, "stacks") != nil {
		return false
	}
	*m.taken = max(*m.taken, size)
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
		th.Walks().CopyUpTo(o.firstCopy())
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
			l := look.New(c, pool, rung)
			l.LimitPause(o.MaxPause)
			left <- g.take(l, todo)
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
