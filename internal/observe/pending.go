// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

const pendingLimit = 2e9 // ns

// Pending returns the number of pending stops, including given-up ones.
func (o *Observer) Pending() int { return o.ctl.Pending() }

// Waiting returns the number of pending stops, without given-up ones.
func (o *Observer) Waiting() (n int) { return o.pending.len() }

// pendingStops has the threads to stop. The index is Tracee.Tag − 1.
type pendingStops []*Thread

// add returns the thread's tag, which is not zero.
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

// Collect finishes pending observations until the deadline (CLOCK_MONOTONIC, ns) or until none is pending. done gets a
// raw sample or an error.
func (o *Observer) Collect(deadline int64, done func(*Thread, *RawSample, error)) {
	o.finishPending(0, false, done)
	o.markQueued(o.pending)
	o.finishPending(deadline, false, done)
	o.giveUp(procmem.Now()-pendingLimit, done)
}

// FinishStopped finishes the observations of all stopped threads between two calls of Begin, and returns their number.
// It busy-waits for the first one until the deadline (0: not at all).
func (o *Observer) FinishStopped(deadline int64, done func(*Thread, *RawSample, error)) int {
	return o.finishPending(deadline, true, done)
}

// finishPending finishes the observations of threads that stop until the deadline. onlyFirst: it busy-waits, and only
// for the first one.
func (o *Observer) finishPending(deadline int64, onlyFirst bool, done func(*Thread, *RawSample, error)) (n int) {
	wait := o.ctl.WaitAny
	if onlyFirst {
		wait = o.ctl.SpinAny
	}
	for tracee := wait(deadline); tracee != nil; tracee = wait(deadline) {
		if onlyFirst {
			deadline = 0
		}
		t := o.pending.take(tracee.Tag)
		if t == nil {
			o.ctl.Cancel(tracee)
			continue
		}
		s, err := o.finish(t, tracee)
		if err == nil && t.reopenAfterExec(len(s.Mem.Stack.Bytes)) {
			if err = o.requestStop(t, s, true); err == nil {
				continue
			}
		}
		if err != nil {
			o.pool.Put(s)
			s = nil
		}
		done(t, s, err)
		n++
	}
	return n
}

// reopenAfterExec opens the memory of the new program if a copy had n = 0 bytes because of an exec, and reports whether
// it did.
func (t *Thread) reopenAfterExec(n int) bool {
	if n > 0 || t.Memory == nil {
		return false
	}
	before := t.Memory.Space()
	return t.Memory.Renew(t.PID) != before
}

// threadPointer is that of the last stop, 0 if it is unknown or of a former program.
func (t *Thread) threadPointer() uint64 {
	if t.tlsSpace != t.addressSpace() {
		return 0
	}
	return t.tls
}

func (t *Thread) addressSpace() uint64 {
	if t.Memory == nil {
		return 0
	}
	return t.Memory.Space()
}

func (o *Observer) giveUp(before int64, done func(*Thread, *RawSample, error)) {
	for i, t := range o.pending {
		if t == nil || t.begun > before {
			continue
		}
		o.cancel(uint64(i) + 1)
		done(t, nil, ptrace.ErrTimeout)
	}
}

// GiveUp ends a thread's pending observation, if any, without a call of done, and reports whether there was one.
func (o *Observer) GiveUp(t *Thread) bool {
	for i, pending := range o.pending {
		if pending == t {
			o.cancel(uint64(i) + 1)
			return true
		}
	}
	return false
}

func (o *Observer) cancel(tag uint64) {
	t := o.pending.take(tag)
	o.pool.Put(t.pending)
	t.pending = nil
	o.ctl.Cancel(t.stopping)
}

// AwaitsTracer reports whether the pending thread stops only when the tracer sleeps, as it waits for its CPU.
func (t *Thread) AwaitsTracer() bool { return t.pending != nil && t.awaitsTracer }

// Of [Observer.Leave], in ns. The kernel detaches the remaining threads when the controller's OS thread ends.
const (
	leaveTimeout = 500e6
	leavePoll    = 5e6
)

// Leave finishes pending observations for at most 0.5 s and aborts the others, before this process is stopped
// ([ptrace.Suspending]). The caller then closes the controller.
func (o *Observer) Leave(done func(*Thread, *RawSample, error)) {
	o.ctl.AcknowledgeSuspend()
	o.finishPending(0, false, done)
	o.markQueued(o.pending)
	for end := procmem.Now() + leaveTimeout; o.Waiting() > 0 && procmem.Now() < end; {
		o.finishPending(procmem.Now()+leavePoll, false, done)
	}
	o.Abort(done)
}

// Abort gives up all pending observations.
func (o *Observer) Abort(done func(*Thread, *RawSample, error)) {
	o.giveUp(procmem.Now()+pendingLimit, done)
}
