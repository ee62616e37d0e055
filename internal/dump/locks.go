// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"prywalk/internal/code"
	"prywalk/internal/core"
	"prywalk/internal/observe"
	"prywalk/internal/sample"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
)

// # Locks
//
// All threads are sampled. Then each lock's owner is sampled again together with the lock's memory, while stopped or
// between two equal readings of its run count, so that it held the lock at the displayed stack. A changed owner is
// followed, a bounded number of times.
//
// A cycle of threads is a deadlock only if two further samples agree: every member sleeps in the same call, with the
// same owner in the lock and an unchanged run count.

// Lock is what threads wait for, and its owner.
type Lock struct {
	waits.Wait
	// PID is the process of its address.
	PID int `json:"pid"`
	// Waiters are the threads that wait for it.
	Waiters []int `json:"waiters"`
	// OwnerThread is the owner's stack while it held the lock; nil if it was not sampled then.
	OwnerThread *Thread `json:"owner_thread,omitempty"`
	// Likely are the threads whose stacks show them within the lock's block, if the lock stores no owner.
	Likely []LikelyOwner `json:"likely_owners,omitempty"`
}

// Locks are the locks that threads of some processes wait for.
type Locks struct {
	Origin
	// Verdict is what is known of deadlocks.
	Verdict Verdict `json:"verdict"`
	Locks   []Lock  `json:"locks"`
	// Deadlocks are the cycles: each thread waits for the next one, and the last for the first.
	Deadlocks [][]int `json:"deadlocks"`
	// Possible are the cycles of which at least one owner is likely, and not proven.
	Possible [][]int `json:"possible_deadlocks"`
	// Starved are the pools that are possibly starved.
	Starved []Starved `json:"starved_pools"`
	// OwnerUnknown are the threads that wait, and are not idle, for something without a known owner.
	OwnerUnknown []int `json:"owner_unknown"`
	// GIL are the cycles through the lock of an interpreter. They are not proven.
	GIL [][]int `json:"gil_cycles,omitempty"`
	// Unread is how many threads' waits are not known: they could not be read, or a signal has stopped them.
	Unread int `json:"threads_unread,omitempty"`
	// GoroutineLocks are what goroutines wait for, PossibleGoroutines the cycles of goroutines that wait for each other
	// through likely owners.
	GoroutineLocks     []GoroutineLock  `json:"goroutine_locks,omitempty"`
	PossibleGoroutines []GoroutineCycle `json:"possible_goroutine_deadlocks,omitempty"`
	// Go are the processes of Go. No owner of what goroutines wait for is proven.
	Go []int `json:"go_processes,omitempty"`
	// Watched is for how long the members of the deadlocks did not run; 0 for a core.
	Watched time.Duration `json:"-"`

	Processes []*Process `json:"-"`
}

// ExamineLocks samples all threads of some processes and examines their locks. Failed ones are missing; the first error
// is returned too. After [ErrHung] sampling ends.
func ExamineLocks(targets []*code.Process, o Options) (_ *Locks, err error) {
	out := newLocks()
	out.Origin = o.origin()
	o.goroutineLocks = true
	if o.Names == nil {
		o.Names = symbols.NewNamer()
		defer func() {
			if !errors.Is(err, ErrHung) { // else still in use
				_ = o.Names.Close()
			}
		}()
	}
	l := &lockExam{out: out, o: o, names: o.Names, process: map[int]*examined{}, byThread: map[int]*examined{}}
	for _, t := range targets {
		o.Others = append(o.Others, t.PID)
	}
	var first error
	for _, t := range targets {
		p, err := Sample(t, o)
		first = cmp.Or(first, err)
		if errors.Is(err, ErrHung) {
			if p != nil {
				out.Processes = append(out.Processes, p)
			}
			out.collect()
			return out, err
		}
		if p == nil {
			continue
		}
		out.Processes = append(out.Processes, p)
		k := &examined{target: t, process: p, explain: explainerOf(t, l.names, waits.NewLiveThreads(t.PID, o.Others))}
		l.process[t.PID] = k
		for i := range p.Threads {
			l.byThread[p.Threads[i].TID] = k
		}
	}
	l.o = o
	hung := observe.Watched(func() {
		out.collect()
		l.owners()
		l.deadlocks()
		out.likelyOwners()
		l.possible()
		out.goroutineLocks()
		l.possibleGoroutines()
		out.judge()
	})
	if hung != nil {
		return out, hung
	}
	return out, first
}

// LocksOfCore examines the locks of a core.
func LocksOfCore(c *core.Core, o Options, sysroot bool) *Locks {
	out := newLocks()
	out.Prywalk = o.Prywalk
	o.goroutineLocks = true
	out.Processes = []*Process{Core(c, o, sysroot)}
	out.collect()
	p := out.Processes[0]
	for i := range out.Locks {
		l := &out.Locks[i]
		l.OwnerThread = p.thread(l.Owner)
	}
	out.Deadlocks = append(out.Deadlocks, waits.Cycles(out.graph())...)
	out.likelyOwners()
	out.Possible = append(out.Possible, out.possible()...)
	out.goroutineLocks()
	out.PossibleGoroutines = out.goroutineCycles()
	out.judge()
	return out
}

func newLocks() *Locks {
	return &Locks{
		Verdict: VerdictUnknown, Locks: []Lock{}, Deadlocks: [][]int{}, Possible: [][]int{}, Starved: []Starved{},
		OwnerUnknown: []int{},
	}
}

func (p *Process) thread(tid int) *Thread {
	for i := range p.Threads {
		if p.Threads[i].TID == tid {
			return &p.Threads[i]
		}
	}
	return nil
}

// lockKey is a lock's address and kind in a process. A lock that two processes share is two.
type lockKey struct {
	pid     int
	kind    waits.Kind
	address waits.Address
}

// collect gathers the locks from what the threads wait for. Locks that only idle threads wait for come last, and of the
// others those with the most waiters first.
func (l *Locks) collect() {
	at := map[lockKey]int{}
	for _, p := range l.Processes {
		for i := range p.Threads {
			t := &p.Threads[i]
			w := t.WaitsFor
			if w == nil || !w.Kind.IsSynchronization() || w.Address == 0 {
				continue
			}
			k := lockKey{p.PID, w.Kind, w.Address}
			n, ok := at[k]
			if !ok {
				n = len(l.Locks)
				at[k] = n
				l.Locks = append(l.Locks, Lock{Wait: *w, PID: p.PID})
				l.Locks[n].Idle, l.Locks[n].Timed, l.Locks[n].Mode = w.Idle, false, ""
			}
			m := &l.Locks[n]
			m.Waiters = append(m.Waiters, t.TID)
			if m.Idle != w.Idle {
				m.Idle = ""
			}
			if m.Owner == 0 && w.Owner != 0 {
				m.Owner, m.Why, m.Free = w.Owner, "", false
			}
		}
	}
	slices.SortStableFunc(l.Locks, func(a, b Lock) int {
		return cmp.Or(cmp.Compare(len(a.Idle), len(b.Idle)), cmp.Compare(len(b.Waiters), len(a.Waiters)),
			cmp.Compare(a.Address, b.Address))
	})
}

// graph maps threads to those that they wait for without a time limit.
func (l *Locks) graph() map[int]int {
	g := map[int]int{}
	for _, p := range l.Processes {
		for i := range p.Threads {
			if w := p.Threads[i].WaitsFor; w != nil && w.Owner != 0 && !w.Timed {
				g[p.Threads[i].TID] = w.Owner
			}
		}
	}
	return g
}

// examined is a sampled process.
type examined struct {
	target  *code.Process
	process *Process
	explain *explainer
}

// lockExam examines the locks of live processes.
type lockExam struct {
	out      *Locks
	o        Options
	names    *symbols.Namer
	process  map[int]*examined
	byThread map[int]*examined
}

const followed = 6

// owners samples the owner of each lock together with the lock, and follows it where it has changed, at most so often
// as followed.
func (l *lockExam) owners() {
	for i := range l.out.Locks {
		lock := &l.out.Locks[i]
		if lock.Owner == 0 || l.byThread[lock.Waiters[0]] == nil {
			continue
		}
		if lock.Kind == waits.Join { // any moment serves: the thread has not ended
			_, lock.OwnerThread = l.examine(lock, lock.Owner)
			continue
		}
		owner := lock.Owner
		lock.Owner, lock.Why = 0, passing
		for range followed {
			holder, th := l.examine(lock, owner)
			if holder == owner {
				lock.Owner, lock.OwnerThread, lock.Why = owner, th, ""
				break
			}
			if owner = holder; owner == 0 {
				owner = l.holder(lock)
			}
			if owner == 0 {
				break
			}
		}
	}
}

const passing = "owner changed at each sample"

func (l *lockExam) sleeper(lock *Lock) (*waits.Sleeper, *examined) {
	k := l.byThread[lock.Waiters[0]]
	if sl := k.process.slept[lock.Waiters[0]]; sl != nil {
		return sl, k
	}
	return nil, k
}

func (l *lockExam) holder(lock *Lock) int {
	sl, k := l.sleeper(lock)
	if sl == nil {
		return 0
	}
	at := sl.Near.Addr
	var b [waits.CopySize]byte
	n := k.explain.read(at, b[:])
	return l.judge(sl, k, waits.WordCopy{Addr: at, Bytes: b[:n]})
}

func (l *lockExam) judge(sl *waits.Sleeper, k *examined, near waits.WordCopy) int {
	again := *sl
	again.Near = near
	w := waits.Describe(&again)
	w.Resolve(k.explain.threads)
	return w.Owner
}

func (l *lockExam) examine(lock *Lock, tid int) (holder int, d *Thread) {
	sl, k := l.sleeper(lock)
	of := l.byThread[tid]
	if sl == nil || of == nil {
		return 0, nil
	}
	extra := newWithLockMemory(observe.TaskStacks(of.target))
	if of == k { // the same address
		extra.Addr = sl.Near.Addr
	}
	s := l.raw(of, tid, extra, observe.ModeNoReuse)
	if s == nil {
		return 0, nil
	}
	w := newWalk(of.target.PID, l.names, nil)
	w.MaxDepth = l.o.MaxDepth
	t := describe(of.target, w, tid, s)
	of.explain.explain(&t, s)
	if of != k {
		return l.holder(lock), &t
	}
	near := extra.copyIn(s)
	if len(near.Bytes) == 0 {
		return l.holder(lock), &t
	}
	return l.judge(sl, k, near), &t
}

func (l *lockExam) raw(of *examined, tid int, extra *withLockMemory, rung observe.Mode) *observe.RawSample {
	th := observe.NewThread(of.target.PID, tid, nil)
	defer th.Close()
	th.Feedback().CopyUpTo(firstCopy)
	th.Memory = of.target.Memory()
	if extra != nil {
		th.Extra = extra
	}
	got := &raws{threads: []*observe.Thread{th}, taken: map[*observe.Thread]*observe.RawSample{},
		failed: map[string]int64{}}
	if got.sampleEach(l.o, rung) != nil {
		return nil
	}
	return got.soFar().taken[th]
}

const watchFor = 100 * time.Millisecond

// deadlocks keeps cycles whose members do not move.
func (l *lockExam) deadlocks() {
	cycles := waits.Cycles(l.out.graph())
	if len(cycles) == 0 {
		return
	}
	for n := 0; n < maxWatches && len(cycles) > 0; n++ {
		began := time.Now()
		var still [][]int
		still, cycles = l.watchCycles(cycles)
		if len(still) > 0 {
			l.out.Deadlocks = append(l.out.Deadlocks, still...)
			l.out.Watched = time.Since(began).Round(time.Millisecond)
		}
		cycles = slices.DeleteFunc(cycles, func(c []int) bool { return !l.wakes(c) })
	}
	slices.SortFunc(l.out.Deadlocks, func(a, b []int) int { return a[0] - b[0] })
}

// maxWatches bounds checks of cycles whose members wake up and sleep again: in JDK 8 to 23 one waiter of each monitor
// after 1, 8, 64, 512 ms, then every second (runtime/objectMonitor.cpp, EnterI).
const maxWatches = 20

func (l *lockExam) wakes(cycle []int) bool {
	return slices.ContainsFunc(cycle, func(tid int) bool {
		t, _ := l.out.find(tid)
		return t != nil && t.WaitsFor != nil && t.WaitsFor.IsManaged()
	})
}

// watchCycles samples cycles twice and separates those without movement.
func (l *lockExam) watchCycles(cycles [][]int) (still, moved [][]int) {
	first := make([]map[int]uint64, len(cycles))
	for i, c := range cycles {
		first[i] = l.runCountsOf(c)
	}
	time.Sleep(watchFor)
	for i, c := range cycles {
		second := l.runCountsOf(c)
		same := len(first[i]) == len(c) && len(second) == len(c)
		for _, tid := range c {
			same = same && first[i][tid] == second[tid]
		}
		if same {
			still = append(still, c)
		} else {
			moved = append(moved, c)
		}
	}
	return still, moved
}

// runCountsOf gives the run counts of members that still sleep for the next one's lock.
func (l *lockExam) runCountsOf(cycle []int) map[int]uint64 {
	runs := map[int]uint64{}
	for i, tid := range cycle {
		k := l.byThread[tid]
		if k == nil {
			continue
		}
		sl := k.process.slept[tid]
		s := l.raw(k, tid, nil, observe.ModePassiveOnly)
		if sl == nil || s == nil || s.State == sample.Running || s.WaitReason() != sl.Wait {
			continue
		}
		if s.Call.Args != sl.Args && sl.Managed == nil { // a wake-up changed the word
			continue
		}
		if l.judge(sl, k, copyOf(s.Near())) == cycle[(i+1)%len(cycle)] {
			runs[tid] = s.Sched.Runs
		}
	}
	return runs
}
