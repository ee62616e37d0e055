// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// pendingLimit is how long an observation may stay pending, in ns.
const pendingLimit = 2e9

// Pending gives the number of pending stops, including given up ones of threads that have not stopped yet.
func (l *Observer) Pending() int { return l.ctl.Pending() }

// Waiting gives the number of pending stops without those that were given up.
func (l *Observer) Waiting() (n int) { return l.pending.len() }

// pendingStops holds the threads that were asked to stop. The index is Tracee.Tag − 1.
type pendingStops []*Thread

// add adds a thread, and gives its tag, which is not zero.
func (p *pendingStops) add(t *Thread) uint64 {
	for i, had := range *p {
		if had == nil {
			(*p)[i] = t
			return uint64(i) + 1
		}
	}
	*p = append(*p, t)
	return uint64(len(*p))
}

func (p pendingStops) take(tag uint64) *Thread {
	if tag == 0 || tag > uint64(len(p)) {
		return nil
	}
	t := p[tag-1]
	p[tag-1] = nil
	return t
}

func (p pendingStops) len() (n int) {
	for _, t := range p {
		if t != nil {
			n++
		}
	}
	return n
}

// Collect finishes pending observations until the deadline (CLOCK_MONOTONIC, ns) or until none is pending. It calls
// done for each, with a raw sample or an error.
func (l *Observer) Collect(deadline int64, done func(*Thread, *RawSample, error)) {
	l.serve(0, false, done)
	l.judge(l.pending)
	l.serve(deadline, false, done)
	l.giveUp(procmem.Now()-pendingLimit, done)
}

// Serve finishes the observations of all threads that have stopped, and gives their number. It waits until the deadline
// for the first of them, without sleeping; a deadline of 0 means no wait. It is for use between two calls of Begin.
func (l *Observer) Serve(deadline int64, done func(*Thread, *RawSample, error)) int {
	return l.serve(deadline, true, done)
}

// serve finishes observations until the deadline, and gives their number. If one is set, it waits only for the first
// stop, and without sleeping.
func (l *Observer) serve(deadline int64, one bool, done func(*Thread, *RawSample, error)) (n int) {
	wait := l.ctl.WaitAny
	if one {
		wait = l.ctl.SpinAny
	}
	for tracee := wait(deadline); tracee != nil; tracee = wait(deadline) {
		if one {
			deadline = 0
		}
		t := l.pending.take(tracee.Tag)
		if t == nil {
			l.ctl.Cancel(tracee)
			continue
		}
		s, err := l.finish(t, tracee)
		if err == nil && t.missed(len(s.Mem.Stack.Bytes)) {
			if err = l.requestStop(t, s, true); err == nil {
				continue
			}
		}
		if err != nil {
			l.pool.Put(s)
			s = nil
		}
		done(t, s, err)
		n++
	}
	return n
}

// missed reopens the process's memory after an exec if a copy gave n = 0 bytes, and reports whether it did.
func (t *Thread) missed(n int) bool {
	missed := n == 0 && t.Memory != nil && t.Memory.ReopenIfGone(t.TID)
	if missed {
		t.tls = 0
	}
	return missed
}

func (l *Observer) giveUp(before int64, done func(*Thread, *RawSample, error)) {
	for i, t := range l.pending {
		if t == nil || t.begun > before {
			continue
		}
		l.cancel(uint64(i) + 1)
		done(t, nil, ptrace.ErrTimeout)
	}
}

// GiveUp ends a thread's pending observation without a call of done, and reports whether there was one.
func (l *Observer) GiveUp(t *Thread) bool {
	for i, p := range l.pending {
		if p == t {
			l.cancel(uint64(i) + 1)
			return true
		}
	}
	return false
}

func (l *Observer) cancel(tag uint64) {
	t := l.pending.take(tag)
	l.pool.Put(t.pending)
	t.pending = nil
	l.ctl.Cancel(t.stopping)
}

// Queued reports whether the pending thread waits for the calling thread's processor, and stops only when that sleeps.
func (t *Thread) Queued() bool { return t.pending != nil && t.queued }

// Time for pending observations when this process is about to be stopped, in ns. The kernel detaches the remaining
// threads when the controller's OS thread ends.
const (
	leaveFor  = 500e6
	leaveStep = 5e6
)

// Leave finishes pending observations for at most 0.5 s and gives up the others, before this process is stopped
// ([ptrace.Leaving]). The caller then closes the controller.
func (l *Observer) Leave(done func(*Thread, *RawSample, error)) {
	l.ctl.Leave()
	l.serve(0, false, done)
	l.judge(l.pending)
	for end := procmem.Now() + leaveFor; l.Waiting() > 0 && procmem.Now() < end; {
		l.serve(procmem.Now()+leaveStep, false, done)
	}
	l.Abort(done)
}

// Abort gives up all pending observations.
func (l *Observer) Abort(done func(*Thread, *RawSample, error)) {
	l.giveUp(procmem.Now()+pendingLimit, done)
}
