// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"errors"
	"slices"

	"prywalk/internal/dump/locks"
	"prywalk/internal/dump/sleepers"
	"prywalk/internal/dump/walk"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/observe/hang"
	"prywalk/internal/observe/taskstack"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
)

type lockExaminer struct {
	locks    *Locks
	options  Options
	byPID    map[int]*examinedProcess
	byThread map[int]*examinedProcess
}

type examinedProcess struct {
	target    *loadedcode.Process
	process   *Process
	explainer *sleepers.Explainer
}

// ExamineLocks samples all threads of some processes and examines their locks. Of processes that fail, which are
// missing, it returns the first error. After [ErrHung] sampling ends.
func ExamineLocks(targets []*loadedcode.Process, o Options) (_ *Locks, err error) {
	out := locks.New()
	out.Origin = o.origin()
	o.goroutineLocks = true
	for _, t := range targets {
		o.Others = append(o.Others, t.PID)
	}
	if o.Names == nil {
		o.Names = symbols.NewNamer()
		defer func() {
			if !errors.Is(err, ErrHung) { // else still in use
				_ = o.Names.Close()
			}
		}()
	}
	l := &lockExaminer{locks: out, options: o, byPID: map[int]*examinedProcess{}, byThread: map[int]*examinedProcess{}}
	failed := l.sampleProcesses(targets)
	if errors.Is(failed, ErrHung) {
		out.Collect()
		return out, failed
	}
	if hung := hang.Watched(func() { out.Examine(l) }); hung != nil {
		return out, hung
	}
	return out, failed
}

// sampleProcesses gives the first error; [ErrHung] ends it.
func (l *lockExaminer) sampleProcesses(targets []*loadedcode.Process) (first error) {
	for _, t := range targets {
		p, err := Sample(t, l.options)
		if p != nil {
			l.locks.Processes = append(l.locks.Processes, p)
		}
		if errors.Is(err, ErrHung) {
			return err
		}
		if p != nil {
			l.add(t, p)
		}
		first = cmp.Or(first, err)
	}
	return first
}

func (l *lockExaminer) add(target *loadedcode.Process, p *Process) {
	proc := &examinedProcess{target: target, process: p,
		explainer: sleepers.NewLive(target, l.options.Names, waits.NewLiveThreads(target.PID, l.options.Others))}
	l.byPID[target.PID] = proc
	for i := range p.Threads {
		l.byThread[p.Threads[i].TID] = proc
	}
}

const maxOwnerSamples = 6

// Owners implements [locks.Checker].
func (l *lockExaminer) Owners(of *Locks) {
	for i := range of.Locks {
		lock := &of.Locks[i]
		switch {
		case lock.Owner == 0 || l.byThread[lock.Waiters[0]] == nil:
		case lock.Kind == waits.Join: // any moment serves: the thread has not ended
			_, lock.OwnerThread = l.sampleWithLock(lock, lock.Owner)
		default:
			l.sampleOwner(lock)
		}
	}
}

// sampleOwner keeps an owner in the lock that cannot be sampled.
func (l *lockExaminer) sampleOwner(lock *Lock) {
	for n := 0; n < maxOwnerSamples; n++ {
		now, th := l.sampleWithLock(lock, lock.Owner)
		if now.Owner == lock.Owner {
			setOwnerThread(lock, th)
			return
		}
		if now.Owner == 0 {
			now = l.readLock(lock)
		}
		lock.Owner, lock.OwnerName = now.Owner, now.OwnerName
		lock.OwnerGone, lock.OwnerParent = now.OwnerGone, now.OwnerParent
		lock.Free, lock.Why = now.Free, now.Why
		if now.Owner == 0 {
			return
		}
	}
	lock.Owner, lock.OwnerName, lock.Why = 0, "", locks.WhyChangedEachSample
}

// setOwnerThread sets the owner's sample; nil: none. A waiter that has got the lock since waits no longer.
func setOwnerThread(lock *Lock, th *Thread) {
	lock.OwnerThread = th
	if th == nil || len(lock.Waiters) == 1 || th.WaitsFor != nil && isSame(th.WaitsFor, lock) {
		return
	}
	isOwner := func(tid int) bool { return tid == th.TID }
	lock.Waiters, lock.IdleWaiters = slices.DeleteFunc(lock.Waiters, isOwner), slices.DeleteFunc(lock.IdleWaiters, isOwner)
}

// sampleWithLock samples a thread with the lock's memory, and gives the lock then; d nil: no sample.
func (l *lockExaminer) sampleWithLock(lock *Lock, tid int) (now waits.Wait, d *Thread) {
	sleeper, waiterProc := l.waiter(lock.Waiters[0])
	proc := l.byThread[tid]
	if proc == nil {
		return l.readLock(lock), nil
	}
	memory := newWithLockMemory(taskstack.Of(proc.target))
	if proc == waiterProc { // the lock has the same address
		memory.Addr = sleeper.Memory.Addr
	}
	th := l.newThread(proc, tid, memory)
	defer th.Close()
	s, _ := sampleThread(th, l.options, observe.ModeAlwaysRead)
	if s == nil {
		return l.readLock(lock), nil
	}
	w := walk.New(proc.target.PID, l.options.Names, nil)
	w.MaxDepth = l.options.MaxDepth
	t, s, _ := completeStack(proc.target, w, l.options, th, s, func() bool { return false })
	if s == nil {
		return l.readLock(lock), nil
	}
	proc.explainer.Explain(&t, s)
	if proc == waiterProc {
		if mem := memory.copyIn(s); len(mem.Bytes) > 0 {
			if now = proc.explainer.WaitWith(sleeper, mem); isSame(&now, lock) {
				return now, &t
			}
		}
	}
	return l.readLock(lock), &t
}

// newThread returns a thread to sample. Its copies have memory, unless nil. The caller closes it.
func (l *lockExaminer) newThread(proc *examinedProcess, tid int, memory *withLockMemory) *observe.Thread {
	th := observe.NewThread(proc.target.PID, tid, nil)
	th.Feedback().CopyUpTo(firstCopy)
	th.Memory = proc.target.Memory()
	if memory != nil {
		th.OtherMemory = memory
	}
	return th
}

// waitersGone is why no owner is named if the waiters that were asked wait for something else by now.
const waitersGone = "the threads that waited for it went on"

// readLock asks the first waiters that still wait.
func (l *lockExaminer) readLock(lock *Lock) waits.Wait {
	for _, tid := range lock.Waiters[:min(len(lock.Waiters), maxOwnerSamples)] {
		sleeper, proc := l.waiter(tid)
		if sleeper == nil {
			continue
		}
		mem := waits.WordCopy{Addr: sleeper.Memory.Addr, Bytes: make([]byte, waits.CopySize)}
		mem.Bytes = mem.Bytes[:proc.explainer.Read(mem.Addr, mem.Bytes)]
		if now := proc.explainer.WaitWith(sleeper, mem); isSame(&now, lock) {
			return now
		}
	}
	return waits.Wait{Kind: lock.Kind, Address: lock.Address, Free: true, Why: waitersGone}
}

// isSame reports whether a wait is for the lock: a run-time system is asked again, and gives what its thread waits for
// then.
func isSame(now *waits.Wait, lock *Lock) bool {
	return now.Kind == lock.Kind && now.Address == lock.Address
}

func (l *lockExaminer) waiter(tid int) (*waits.Sleeper, *examinedProcess) {
	proc := l.byThread[tid]
	if proc == nil {
		return nil, nil
	}
	return proc.process.Sleepers[tid], proc
}

// withLockMemory copies what Inner does, then a lock's memory.
type withLockMemory struct {
	observe.MemoryRegion
	buf [waits.CopySize]byte
}

func newWithLockMemory(inner observe.OtherMemory) *withLockMemory {
	b := &withLockMemory{}
	b.Inner, b.Bytes = inner, b.buf[:]
	return b
}

func (b *withLockMemory) copyIn(s *observe.RawSample) waits.WordCopy {
	for i := range s.Mem.Others {
		if r := &s.Mem.Others[i]; r.Addr == b.Addr && len(r.Bytes) <= waits.CopySize {
			return waits.WordCopy{Addr: r.Addr, Bytes: r.Bytes}
		}
	}
	return waits.WordCopy{}
}
