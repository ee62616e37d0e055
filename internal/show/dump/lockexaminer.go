// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/process"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/sleepers"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

type lockExaminer struct {
	locks    *locks.Locks
	options  Options
	byPID    map[int]*examinedProcess
	byThread map[int]*examinedProcess
	retries  int // readings of locks after a pause
}

type examinedProcess struct {
	target    *loadedcode.Process
	process   *stacks.Process
	explainer *sleepers.Explainer
}

// ExamineLocks samples all threads of some processes and examines their locks. The error is of the first process that
// failed. [ErrHung] ends sampling.
func ExamineLocks(targets []*loadedcode.Process, o Options) (_ *locks.Locks, err error) {
	out := locks.New()
	out.Origin = o.origin()
	o.goroutineLocks = true
	for _, t := range targets {
		o.others = append(o.others, t.PID)
	}
	out.UnreadChildren = len(process.LivingDescendants(o.others))
	if o.Names == nil {
		o.Names = symbols.NewNamer()
		defer func() {
			if !errors.Is(err, ErrHung) { // else in use
				_ = o.Names.Close()
			}
		}()
	}
	e := &lockExaminer{locks: out, options: o, byPID: map[int]*examinedProcess{}, byThread: map[int]*examinedProcess{}}
	failed := e.sampleProcesses(targets)
	if errors.Is(failed, ErrHung) {
		out.Collect()
		return out, failed
	}
	if hung := selfhang.Watched(func() {
		e.resampleAwakeOwners()
		out.Examine(e)
		if o.Chains {
			err = out.FollowChains(e)
		}
	}); hung != nil {
		return out, hung
	}
	return out, cmp.Or(failed, err)
}

func (e *lockExaminer) sampleProcesses(targets []*loadedcode.Process) (first error) {
	for _, t := range targets {
		p, err := Sample(t, e.options)
		if p != nil {
			e.locks.Processes = append(e.locks.Processes, p)
		}
		if errors.Is(err, ErrHung) {
			return err
		}
		if p != nil {
			e.add(t, p)
		}
		first = cmp.Or(first, err)
	}
	return first
}

func (e *lockExaminer) add(target *loadedcode.Process, p *stacks.Process) {
	proc := &examinedProcess{target: target, process: p,
		explainer: sleepers.NewLive(target, e.options.Names, waits.NewLiveThreads(target.PID, e.options.others))}
	e.byPID[target.PID] = proc
	for i := range p.Threads {
		e.byThread[p.Threads[i].TID] = proc
	}
}

const maxOwnerSamples = 6

// maxAwakeTime is the time after which no further sample of an awake owner begins.
const maxAwakeTime = 400 * time.Millisecond

// resampleAwakeOwners samples owners that were awake until they wait for a lock with an owner: they may be in a
// deadlock (maxConfirmations).
func (e *lockExaminer) resampleAwakeOwners() {
	end, tried := time.Now().Add(maxAwakeTime), map[int]bool{}
	for owners := e.awakeOwners(tried); len(owners) > 0; owners = e.awakeOwners(tried) {
		for _, tid := range owners { // the owner of its own lock may have been awake
			for n := 0; n < maxOwnerSamples && time.Now().Before(end) && !e.resample(tid); n++ {
				time.Sleep(waitRetryWait)
			}
		}
	}
}

// awakeOwners returns the owners that were awake and are not in tried, and adds them. It leaves out the owners of
// interpreters' locks, which always run.
func (e *lockExaminer) awakeOwners(tried map[int]bool) (tids []int) {
	for _, t := range stacks.ThreadsOf(e.locks.Processes) {
		w := t.WaitsFor
		if w == nil || w.Owner == 0 || w.Kind == waits.GIL || tried[w.Owner] {
			continue
		}
		if owner, _ := e.locks.Thread(w.Owner); owner != nil && owner.State == "R" {
			tried[w.Owner] = true
			tids = append(tids, w.Owner)
		}
	}
	return tids
}

// resample replaces a thread's sample by one in which it waits for a lock with an owner, as only such waits make
// cycles. It returns false if the thread does not wait for one, and true if the thread is unreadable.
func (e *lockExaminer) resample(tid int) bool {
	proc := e.byThread[tid]
	th := e.options.newThread(proc.target, tid)
	defer th.Close()
	s, _ := sampleThread(th, e.options, observe.ModeAlwaysRead)
	if s == nil {
		return true
	}
	t, _ := e.describe(proc, th, s)
	if t.WaitsFor == nil || t.WaitsFor.Owner == 0 || t.WaitsFor.Kind == waits.GIL {
		return false
	}
	old, _ := e.locks.Thread(tid)
	t.Name = old.Name
	*old = t
	proc.process.Sleepers[tid] = proc.explainer.Sleepers[tid]
	return true
}

func (e *lockExaminer) describe(proc *examinedProcess, th *observe.Thread, s *observe.RawSample) (
	stacks.Thread, *observe.RawSample,
) {
	w := walk.New(proc.target.PID, e.options.Names, nil)
	w.MaxDepth = e.options.MaxDepth
	t, s, _ := completeStack(proc.target, w, e.options, th, s, func() bool { return false })
	proc.explainer.Explain(&t, s)
	return t, s
}

// SampleOwners implements [locks.Checker].
func (e *lockExaminer) SampleOwners(l *locks.Locks) {
	for lock := range stacks.Each(l.Locks) {
		switch {
		case lock.Owner == 0 || e.byThread[lock.Waiters[0]] == nil:
		case lock.Kind == waits.Join: // the thread has not ended, so any moment serves
			_, lock.OwnerThread = e.sampleWithLock(lock, lock.Owner)
		default:
			e.sampleOwner(lock)
		}
	}
}

func (e *lockExaminer) sampleOwner(lock *locks.Lock) {
	for n := 0; n < maxOwnerSamples; n++ {
		wait, th := e.sampleWithLock(lock, lock.Owner)
		wasFree := isSame(&wait, lock) && wait.Owner == 0
		if wait.Owner == 0 {
			wait = e.readLock(lock)
		}
		if wait.Owner == lock.Owner && !wasFree {
			setOwnerThread(lock, th)
			return
		}
		if lock.Ownership = wait.Ownership; wait.Owner == 0 {
			return
		}
	}
	lock.Ownership = waits.Ownership{Why: locks.WhyChangedEachSample}
}

// setOwnerThread sets the owner's sample, which may be nil. A waiter that has become the owner is removed.
func setOwnerThread(lock *locks.Lock, th *stacks.Thread) {
	lock.OwnerThread = th
	if th == nil || len(lock.Waiters) == 1 || th.WaitsFor != nil && isSame(th.WaitsFor, lock) {
		return
	}
	isOwner := func(tid int) bool { return tid == th.TID }
	lock.Waiters, lock.IdleWaiters = slices.DeleteFunc(lock.Waiters, isOwner), slices.DeleteFunc(lock.IdleWaiters, isOwner)
}

// sampleWithLock samples thread tid with the lock's memory. wait is the lock as read with the sample, empty if it was
// not; owner is the thread, nil if it was not sampled.
func (e *lockExaminer) sampleWithLock(lock *locks.Lock, tid int) (wait waits.Wait, owner *stacks.Thread) {
	sleeper, waiterProc := e.waiter(lock.Waiters[0])
	proc := e.byThread[tid]
	if proc == nil {
		return waits.Wait{}, nil
	}
	memory := &withLockMemory{}
	memory.Inner, memory.Bytes = observe.NewTaskStacks(proc.target), memory.buf[:]
	if proc == waiterProc {
		memory.Addr = sleeper.Memory.Addr
	}
	th := e.options.newThread(proc.target, tid)
	defer th.Close()
	th.OtherMemory = memory
	s, _ := sampleThread(th, e.options, observe.ModeAlwaysRead)
	if s == nil {
		return waits.Wait{}, nil
	}
	t, s := e.describe(proc, th, s)
	if mem := memory.copyIn(s); proc == waiterProc && len(mem.Bytes) > 0 {
		if wait = proc.explainer.WaitWith(sleeper, mem); isSame(&wait, lock) {
			return wait, &t
		}
	}
	return waits.Wait{}, &t
}

// readLock reads the lock again, where the samples of its first maxOwnerSamples waiters have it. A runtime is asked
// whether the thread still waits, again if it was awake: a monitor's waiters wake now and then. Pauses are limited for
// all locks together (maxWaitRetries).
func (e *lockExaminer) readLock(lock *locks.Lock) waits.Wait {
	owner := waits.Ownership{Free: true, Why: "the threads that waited for it went on"}
	for _, tid := range lock.Waiters[:min(len(lock.Waiters), maxOwnerSamples)] {
		sleeper, proc := e.waiter(tid)
		asleep := sleeper == nil
		for n := 0; !asleep && n < maxOwnerSamples; n++ {
			if n > 0 {
				if e.retries++; e.retries > maxWaitRetries {
					break
				}
				time.Sleep(waitRetryWait)
			}
			mem := waits.FutexCopy{Addr: sleeper.Memory.Addr, Bytes: make([]byte, waits.CopySize)}
			mem.Bytes = mem.Bytes[:proc.explainer.Read(mem.Addr, mem.Bytes)]
			proc.explainer.Retryable = false
			if wait := proc.explainer.WaitWith(sleeper, mem); isSame(&wait, lock) {
				return wait
			}
			asleep = !proc.explainer.Retryable
		}
		if !asleep {
			owner = waits.Ownership{Why: "its waiters were awake at each reading"}
		}
	}
	return waits.Wait{Kind: lock.Kind, Address: lock.Address, Ownership: owner}
}

// isSame reports whether a wait is for the lock. A wait in a runtime, when read again, may be for another.
func isSame(wait *waits.Wait, lock *locks.Lock) bool {
	return wait.Kind == lock.Kind && wait.Address == lock.Address
}

func (e *lockExaminer) waiter(tid int) (*waits.Sleeper, *examinedProcess) {
	proc := e.byThread[tid]
	if proc == nil {
		return nil, nil
	}
	return proc.process.Sleepers[tid], proc
}

type withLockMemory struct {
	observe.MemoryRegion
	buf [waits.CopySize]byte
}

func (m *withLockMemory) copyIn(s *observe.RawSample) waits.FutexCopy {
	for i := range s.Mem.Others {
		if r := &s.Mem.Others[i]; r.Addr == m.Addr && len(r.Bytes) <= waits.CopySize {
			return waits.FutexCopy{Addr: r.Addr, Bytes: r.Bytes}
		}
	}
	return waits.FutexCopy{}
}
