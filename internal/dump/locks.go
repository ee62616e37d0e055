// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"prywalk/internal/code"
	"prywalk/internal/core"
	"prywalk/internal/look"
	"prywalk/internal/sample"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
)

// # Locks
//
// All threads are looked at first, each for itself. Then, for each lock with an owner, the owner is looked at
// again, and the lock's memory is copied in the same look. That is done while the owner is stopped, or between two
// equal readings of its count. So the stack that is shown is of a moment at which that thread held the lock. Who
// has passed it on by then is followed, some times.
//
// A cycle of threads that wait for each other is called a deadlock only if two further looks find the same. Every
// member is asleep in the same call, with the same owner in the lock. Each also has to have a count of arrivals on a
// processor that has not moved in between.

// Lock is something that threads wait for, and who holds it.
type Lock struct {
	waits.For
	// PID is the process whose address it has.
	PID int `json:"pid"`
	// Waiters are the threads that wait for it.
	Waiters []int `json:"waiters"`
	// OwnerThread is the owner's stack at a moment at which it held the lock; nil if it was not met so.
	OwnerThread *Thread `json:"owner_thread,omitempty"`
	// Likely are the threads whose stacks show that they are inside of the lock's block, where it stores no owner.
	Likely []LikelyOwner `json:"likely_owners,omitempty"`
}

// Locks are the locks that threads of some processes wait for.
type Locks struct {
	Origin
	// Verdict says what is known of deadlocks.
	Verdict Verdict `json:"verdict"`
	Locks   []Lock  `json:"locks"`
	// Deadlocks are the cycles: each thread waits for the next one, and the last for the first.
	Deadlocks [][]int `json:"deadlocks"`
	// Possible are the cycles of which at least one owner is likely, and not proven.
	Possible [][]int `json:"possible_deadlocks"`
	// Starved are the pools that are possibly starved.
	Starved []Starved `json:"starved_pools"`
	// OwnerUnknown are the threads that wait, and are not idle, for something whose owner is not known.
	OwnerUnknown []int `json:"owner_unknown"`
	// Go are the processes of Go: their goroutines wait for locks without a thread, and are not looked at.
	Go []int `json:"go_processes,omitempty"`
	// Watched is how long the members of the deadlocks were seen not to run; 0 for a core, which is one moment.
	Watched time.Duration `json:"-"`

	Processes []*Process `json:"-"`
}

// LookAtLocks looks at all threads of some processes, and finds out about the locks that they wait for. What could not
// be looked at is missing; the first error of a look is given besides. After [ErrHung] nobody is looked at any more.
func LookAtLocks(targets []*code.Process, o Options) (_ *Locks, err error) {
	out := newLocks()
	out.Origin = o.origin()
	if o.Names == nil {
		o.Names = symbols.NewNamer()
		defer func() {
			if !errors.Is(err, ErrHung) { // else they may still be in use
				_ = o.Names.Close()
			}
		}()
	}
	l := &lockLook{out: out, o: o, names: o.Names, process: map[int]*locked{}, at: map[int]*locked{}}
	for _, t := range targets {
		o.Others = append(o.Others, t.PID)
	}
	var first error
	for _, t := range targets {
		p, err := Look(t, o)
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
		k := &locked{target: t, process: p, explain: explainerOf(t, l.names, waits.NewMembers(t.PID, o.Others))}
		l.process[t.PID] = k
		for i := range p.Threads {
			l.at[p.Threads[i].TID] = k
		}
	}
	l.o = o
	hung := look.Watched(func() {
		out.collect()
		l.owners()
		l.deadlocks()
		out.likelyOwners()
		l.possible()
		out.judge()
	})
	if hung != nil {
		return out, hung
	}
	return out, first
}

// LocksOfCore finds out about the locks of a core, which is of one moment.
func LocksOfCore(c *core.Core, o Options, sysroot bool) *Locks {
	out := newLocks()
	out.Prywalk = o.Prywalk
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
	out.judge()
	return out
}

func newLocks() *Locks {
	return &Locks{
		Verdict: VerdictUnknown, Locks: []Lock{}, Deadlocks: [][]int{}, Possible: [][]int{}, Starved: []Starved{},
		OwnerUnknown: []int{},
	}
}

// thread gives a thread by its number; nil if it is not there.
func (p *Process) thread(tid int) *Thread {
	for i := range p.Threads {
		if p.Threads[i].TID == tid {
			return &p.Threads[i]
		}
	}
	return nil
}

// lockKey tells locks apart: those of one process by their addresses, those that processes share by where they lie in
// what is mapped.
type lockKey struct {
	pid     int
	kind    waits.Kind
	address waits.Address
	owner   int // of a join
}

// collect gathers the locks of all sleepers: those with the most waiters first.
func (l *Locks) collect() {
	at := map[lockKey]int{}
	for _, p := range l.Processes {
		for i := range p.Threads {
			t := &p.Threads[i]
			w := t.WaitsFor
			if w == nil || !w.Kind.IsLock() || w.Address == 0 {
				continue
			}
			k := lockKey{p.PID, w.Kind, w.Address, 0}
			n, ok := at[k]
			if !ok {
				n = len(l.Locks)
				at[k] = n
				l.Locks = append(l.Locks, Lock{For: *w, PID: p.PID})
				l.Locks[n].Idle, l.Locks[n].Timed, l.Locks[n].Mode = w.Idle, false, ""
			}
			m := &l.Locks[n]
			m.Waiters = append(m.Waiters, t.TID)
			if m.Idle != w.Idle { // who is blocked there is what matters
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

// graph tells for each thread which one it waits for, without end.
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

// locked is one process whose locks are looked at.
type locked struct {
	target  *code.Process
	process *Process
	explain *explainer
}

// lockLook finds out about locks of live processes.
type lockLook struct {
	out     *Locks
	o       Options
	names   *symbols.Namer
	process map[int]*locked
	at      map[int]*locked // by thread
}

// followed is how often the owner of a lock that is passed on is followed.
const followed = 6

// owners looks at the owner of each lock at a moment at which it has it.
func (l *lockLook) owners() {
	for i := range l.out.Locks {
		lock := &l.out.Locks[i]
		if lock.Owner == 0 || l.at[lock.Waiters[0]] == nil {
			continue
		}
		if lock.Kind == waits.Join { // a thread that has not ended is what it waits for at any moment
			_, lock.OwnerThread = l.lookAt(lock, lock.Owner)
			continue
		}
		owner := lock.Owner
		lock.Owner, lock.Why = 0, passing
		for range followed {
			holder, th := l.lookAt(lock, owner)
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

// passing says that a lock was held by another thread at each look.
const passing = "owner changed at each sample"

// sleeper gives a waiter of a lock, and its process.
func (l *lockLook) sleeper(lock *Lock) (*waits.Sleeper, *locked) {
	k := l.at[lock.Waiters[0]]
	if sl := k.process.slept[lock.Waiters[0]]; sl != nil {
		return sl, k
	}
	return nil, k
}

// holder reads who holds a lock now; 0 if that is not known.
func (l *lockLook) holder(lock *Lock) int {
	sl, k := l.sleeper(lock)
	if sl == nil {
		return 0
	}
	at := sl.Near.Addr
	var b [waits.Around]byte
	n := k.explain.read(at, b[:])
	return l.judge(sl, k, waits.Copy{Addr: at, Bytes: b[:n]})
}

// judge tells who holds the lock that a sleeper waits for, by another copy of its memory.
func (l *lockLook) judge(sl *waits.Sleeper, k *locked, near waits.Copy) int {
	again := *sl
	again.Near = near
	w := waits.Of(&again)
	w.Resolve(k.explain.threads)
	return w.Owner
}

// lookAt looks at a thread, and at the same time at a lock: it gives who holds it then, and the thread's stack.
func (l *lockLook) lookAt(lock *Lock, tid int) (holder int, d *Thread) {
	sl, k := l.sleeper(lock)
	of := l.at[tid]
	if sl == nil || of == nil {
		return 0, nil
	}
	extra := &beside{inner: look.TaskStacks(of.target)}
	if of == k { // else the lock has another address there
		extra.addr = sl.Near.Addr
	}
	s := l.shot(of, tid, extra, look.AlwaysPeek)
	if s == nil {
		return 0, nil
	}
	w := newWalk(of.target.PID, l.names, nil)
	w.MaxDepth = l.o.MaxDepth
	t := describe(of.target, w, tid, s)
	of.explain.explain(&t, s)
	if of != k { // both are asked one after the other
		return l.holder(lock), &t
	}
	near := extra.copyIn(s)
	if len(near.Bytes) == 0 {
		return l.holder(lock), &t
	}
	return l.judge(sl, k, near), &t
}

// shot looks at one thread; nil if that fails.
func (l *lockLook) shot(of *locked, tid int, extra *beside, rung look.Rung) *look.Shot {
	th := look.NewThread(of.target.PID, tid, nil)
	defer th.Close()
	th.Walks().CopyUpTo(firstCopy)
	th.Memory = of.target.Memory()
	if extra != nil {
		th.Extra = extra
	}
	got := &shots{threads: []*look.Thread{th}, taken: map[*look.Thread]*look.Shot{}, failed: map[string]int64{}}
	if got.takeEach(l.o, rung) != nil {
		return nil
	}
	return got.soFar().taken[th]
}

// watchFor is the time between the two looks at the members of a cycle.
const watchFor = 100 * time.Millisecond

// deadlocks finds the cycles, and keeps those whose members do not move.
func (l *lockLook) deadlocks() {
	cycles := waits.Cycles(l.out.graph())
	if len(cycles) == 0 {
		return
	}
	for n := 0; n < watches && len(cycles) > 0; n++ {
		began := time.Now()
		var still [][]int
		still, cycles = l.watch(cycles)
		if len(still) > 0 {
			l.out.Deadlocks = append(l.out.Deadlocks, still...)
			l.out.Watched = time.Since(began).Round(time.Millisecond)
		}
		cycles = slices.DeleteFunc(cycles, func(c []int) bool { return !l.wakes(c) })
	}
	slices.SortFunc(l.out.Deadlocks, func(a, b []int) int { return a[0] - b[0] })
}

// watches is how often a cycle is watched whose members may wake up and sleep on. In JDK 8 to 23 one waiter of each
// monitor does so after 1, 8, 64, 512 ms, and then once a second (runtime/objectMonitor.cpp, EnterI).
const watches = 20

// wakes reports whether a member of a cycle may wake up, and sleep on for the same lock.
func (l *lockLook) wakes(cycle []int) bool {
	return slices.ContainsFunc(cycle, func(tid int) bool {
		t, _ := l.out.find(tid)
		return t != nil && t.WaitsFor != nil && t.WaitsFor.IsManaged()
	})
}

// watch looks at the members of cycles twice, and gives those cycles of which none has moved, and the others.
func (l *lockLook) watch(cycles [][]int) (still, moved [][]int) {
	first := make([]map[int]uint64, len(cycles))
	for i, c := range cycles {
		first[i] = l.standing(c)
	}
	time.Sleep(watchFor)
	for i, c := range cycles {
		second := l.standing(c)
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

// standing gives the counts of those members of a cycle that sleep in the call that they were found in, for what the
// next one holds.
func (l *lockLook) standing(cycle []int) map[int]uint64 {
	runs := map[int]uint64{}
	for i, tid := range cycle {
		k := l.at[tid]
		if k == nil {
			continue
		}
		sl := k.process.slept[tid]
		s := l.shot(k, tid, nil, look.OnlyPeek)
		if sl == nil || s == nil || s.State == sample.Running || s.Wait() != sl.Wait {
			continue
		}
		if s.Call.Args != sl.Args && sl.Managed == nil { // who woke up and sleeps on does so at another word
			continue
		}
		if l.judge(sl, k, copyOf(s.Near())) == cycle[(i+1)%len(cycle)] {
			runs[tid] = s.Sched.Runs
		}
	}
	return runs
}
