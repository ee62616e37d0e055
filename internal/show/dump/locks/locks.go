// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"prywalk/internal/base/schema"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/chains"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// Lock is what threads wait for.
type Lock struct {
	waits.Wait
	// PID is the process whose memory has the address.
	PID     int   `json:"pid"`
	Waiters []int `json:"waiters"`
	// IdleWaiters are the idle ones of Waiters. Absent if all are idle by one rule, which is Idle.
	IdleWaiters []int `json:"idle_waiters,omitempty"`
	// OwnerThread is the owner's stack while it held the lock; nil if it was not sampled then.
	OwnerThread *stacks.Thread `json:"owner_thread,omitempty"`
	// Likely are the threads inside of the lock's block by their stacks, if the lock stores no owner, or the only thread
	// of the process that took a file lock.
	Likely []LikelyOwner `json:"likely_owners,omitempty"`
}

// Locks are the locks that threads of some processes wait for.
type Locks struct {
	stacks.Origin
	Verdict Verdict `json:"verdict"`
	Locks   []Lock  `json:"locks"`
	// Deadlocks are cycles: each thread waits for the next one, the last for the first.
	Deadlocks [][]int `json:"deadlocks"`
	// OnlyThreads are those of PossibleDeadlocks that are a process's only thread, at a lock of that process.
	OnlyThreads [][]int `json:"-"`
	// PossibleDeadlocks are the cycles with at least one owner that is likely, not proven.
	PossibleDeadlocks [][]int       `json:"possible_deadlocks"`
	StarvedPools      []StarvedPool `json:"starved_pools"`
	// WaitersWithoutOwner are the threads that wait, and are not idle, for something without a known owner.
	WaitersWithoutOwner []int `json:"owner_unknown"`
	// GILCycles are the cycles through an interpreter's lock. They are not proven.
	GILCycles [][]int `json:"gil_cycles,omitempty"`
	// ThreadsWithUnknownWait is the number of threads whose waits are not known: not readable, stopped by a signal, or
	// in futex(2) for an unknown object.
	ThreadsWithUnknownWait int `json:"threads_unread,omitempty"`
	// StoppedThreads is how many of these a signal or a debugger has stopped.
	StoppedThreads int `json:"-"`
	// GoroutineDeadlocks are goroutines that nothing can wake.
	GoroutineDeadlocks []GoroutineDeadlock `json:"goroutine_deadlocks,omitempty"`
	// GoroutineLocks are what goroutines wait for, PossibleGoroutineDeadlocks their cycles through likely owners.
	GoroutineLocks             []GoroutineLock  `json:"goroutine_locks,omitempty"`
	PossibleGoroutineDeadlocks []GoroutineCycle `json:"possible_goroutine_deadlocks,omitempty"`
	// TaskLocks are what virtual threads wait for; of TasksWithoutOwner no owner is known. TaskDeadlocks are cycles with
	// a virtual thread.
	TaskLocks         []TaskLock `json:"task_locks,omitempty"`
	TaskDeadlocks     [][]Waiter `json:"task_deadlocks,omitempty"`
	TasksWithoutOwner int        `json:"task_owner_unknown,omitempty"`
	// GoProcesses are the processes with goroutines; no owner of what these wait for is proven.
	GoProcesses []int `json:"go_processes,omitempty"`
	// ThreadlessTasks are the kinds of tasks, other than goroutines, that can wait for each other without a thread that
	// shows it: "asyncio's tasks", "virtual threads".
	ThreadlessTasks []string `json:"unexamined,omitempty"`
	// UnreadChildren is the number of child processes that were not read. The verdict is not about these.
	UnreadChildren int `json:"unread_children,omitempty"`
	// UnsampledOwners is the number of locks whose owner was not sampled. Such an owner may wait, too.
	UnsampledOwners int `json:"-"`
	// UnchangedFor is for how long at least the deadlocks' members did not run; 0 for a core.
	UnchangedFor time.Duration `json:"-"`

	Processes []*stacks.Process `json:"-"`
	// Followed are the chains of all waits, if they are asked for.
	Followed *chains.Report `json:"-"`
}

// Blocked returns the waiters that are not idle.
func (lock *Lock) Blocked() (out []int) {
	if lock.Idle != "" {
		return nil
	}
	idle := lock.IdleWaiters // in the order of Waiters
	for _, tid := range lock.Waiters {
		if len(idle) > 0 && idle[0] == tid {
			idle = idle[1:]
		} else {
			out = append(out, tid)
		}
	}
	return out
}

// Process returns a process by its ID, or nil.
func (l *Locks) Process(pid int) *stacks.Process {
	for _, p := range l.Processes {
		if p.PID == pid {
			return p
		}
	}
	return nil
}

// Thread returns a thread of any of the processes, or nil if it was not sampled.
func (l *Locks) Thread(tid int) (*stacks.Thread, *stacks.Process) {
	for _, p := range l.Processes {
		if t := p.Thread(tid); t != nil {
			return t, p
		}
	}
	return nil, nil
}

// A shared lock is listed for each process, a file lock once for all by its path and owner, a database's locks as one,
// another lock of unknown address for each waiting thread.
type lockKey struct {
	pid     int
	kind    waits.Kind
	address schema.Hex
	file    string // or database
	owner   int    // process of a file's lock; 0 means unknown
	tid     int    // the only waiter
}

func keyOf(pid int, t *stacks.Thread) lockKey {
	w := t.WaitsFor
	k := lockKey{pid: pid, kind: w.Kind, address: w.Address}
	switch {
	case w.Address != 0:
	case w.FD != nil && w.FD.Path != "":
		if k.file, k.owner = w.FD.Path, w.OwnerProcess; k.owner != 0 {
			k.pid = 0
		}
	case w.Kind == waits.DatabaseLock:
		k.pid, k.file = 0, w.Type
	case w.Kind == waits.GIL:
	default:
		k.tid = t.TID
	}
	return k
}

// nameCandidates adds the processes of PostgreSQL that can hold a lock, as they are within a transaction and wait for
// their clients, to what is said of the lock's owner.
func (l *Locks) nameCandidates() {
	var list []string
	for p, t := range stacks.ThreadsOf(l.Processes) {
		if w := t.WaitsFor; w != nil && w.Why == waits.IdleInTransaction {
			list = append(list, fmt.Sprintf("%d, \"idle in transaction\", client %s", p.PID, w.FD.OtherEnd()))
		}
	}
	candidates := tabular.Form(len(list), "candidate: ", "candidates: ")
	if n := len(list) - maxCandidates; n > 0 {
		list = append(list[:maxCandidates], fmt.Sprintf("%d more", n))
	}
	for _, t := range stacks.ThreadsOf(l.Processes) {
		if w := t.WaitsFor; w != nil && w.Kind == waits.DatabaseLock && w.Type == "" && len(list) > 0 {
			w.Why = waits.WhyDatabaseLock + "; " + candidates + strings.Join(list, "; ")
		}
	}
}

const maxCandidates = 4

// Collect lists what threads wait for of other threads ([waits.Kind.IsSynchronization]), those of idle waiters last.
func (l *Locks) Collect() {
	l.nameCandidates()
	indexes := map[lockKey]int{}
	for p, t := range stacks.ThreadsOf(l.Processes) {
		if w := t.WaitsFor; w == nil || !w.Kind.IsSynchronization() {
			continue
		}
		k := keyOf(p.PID, t)
		if k.kind == waits.GIL && k.address == 0 { // it was being passed on
			k.address = onlyGIL(p)
		}
		n, ok := indexes[k]
		if !ok {
			n = len(l.Locks)
			indexes[k] = n
			l.Locks = append(l.Locks, Lock{Wait: *t.WaitsFor, PID: p.PID})
			l.Locks[n].Timed, l.Locks[n].Mode, l.Locks[n].Address = false, "", k.address // of the first waiter
		}
		l.Locks[n].addWaiter(t)
	}
	for i := range l.Locks {
		if l.Locks[i].Idle != "" {
			l.Locks[i].IdleWaiters = nil
		}
	}
	slices.SortStableFunc(l.Locks, func(a, b Lock) int {
		return cmp.Or(rank(len(a.Blocked()) == 0)-rank(len(b.Blocked()) == 0), cmp.Compare(len(b.Waiters), len(a.Waiters)),
			cmp.Compare(a.Address, b.Address))
	})
}

// onlyGIL returns the address of a process's GIL, 0 if threads wait for several or for none with an address.
func onlyGIL(p *stacks.Process) (address schema.Hex) {
	for i := range p.Threads {
		if w := p.Threads[i].WaitsFor; w != nil && w.Kind == waits.GIL && w.Address != 0 {
			if address != 0 && address != w.Address {
				return 0
			}
			address = w.Address
		}
	}
	return address
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

func (lock *Lock) addWaiter(t *stacks.Thread) {
	w := t.WaitsFor
	lock.Waiters = append(lock.Waiters, t.TID)
	if w.Idle != "" {
		lock.IdleWaiters = append(lock.IdleWaiters, t.TID)
	}
	if lock.Idleness != w.Idleness {
		lock.Idleness = waits.Idleness{}
	}
	if lock.Owner == 0 && w.Owner != 0 {
		lock.Ownership = w.Ownership
	}
}
