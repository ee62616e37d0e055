// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"math"

	"prywalk/internal/base/errs"
	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

// Longest time that a stop is pending, ns.
const pendingLimit = 2e9

// Attached counts pending stops, including cancelled ones of threads that have not stopped.
func (st *requestedStops) Attached() int { return st.ctl.Attached() }

// PendingStops counts pending stops without cancelled ones.
func (st *requestedStops) PendingStops() int { return len(st.pending) }

// Collect finishes pending observations until the deadline (CLOCK_MONOTONIC, ns) or until no thread is attached, not
// even by a cancelled stop. done gets a raw sample or an error: [ptrace.ErrTimeout] of an observation older than 2 s,
// which is cancelled. A timeout is no refusal ([sample.NotStopped]): the thread's time goes to its next sample.
func (st *requestedStops) Collect(deadline int64, done func(*Thread, *RawSample, error)) {
	st.finishUntil(0, done)
	st.markQueued()
	st.finishUntil(deadline, done)
	st.cancelRequestedBefore(procmem.Now()-pendingLimit, done)
}

func (st *requestedStops) finishUntil(deadline int64, done func(*Thread, *RawSample, error)) {
	for attachment := st.ctl.WaitAny(deadline); attachment != nil; attachment = st.ctl.WaitAny(deadline) {
		st.finishOne(attachment, done)
	}
}

func (st *requestedStops) markQueued() {
	for attachment, t := range st.pending {
		if !t.skid.decided && st.preemption.decide(t) {
			attachment.MarkQueued()
		}
	}
}

// FinishStopped finishes the observations of all stopped threads, and returns their number. It busy-waits for the first
// one until the deadline (CLOCK_MONOTONIC, ns; 0: not at all).
func (st *requestedStops) FinishStopped(deadline int64, done func(*Thread, *RawSample, error)) (n int) {
	for attachment := st.ctl.SpinAny(deadline); attachment != nil; attachment = st.ctl.SpinAny(0) {
		if st.finishOne(attachment, done) {
			n++
		}
	}
	return n
}

// finishOne returns false if the stop was cancelled, or is requested again because of an exec.
func (st *requestedStops) finishOne(attachment *ptrace.Attachment, done func(*Thread, *RawSample, error)) bool {
	t := st.pending[attachment]
	if t == nil {
		st.ctl.Cancel(attachment)
		return false
	}
	delete(st.pending, attachment)
	s, err := st.finish(t, attachment)
	if err == nil && t.reopenAfterExec(len(s.Mem.Stack.Bytes)) {
		if err = st.repeatStop(t, s); err == nil {
			return false
		}
	}
	if err != nil {
		st.pool.Put(s)
		s = nil
	}
	done(t, s, err)
	return true
}

// repeatStop requests the stop again whose sample s has no memory of the new program. A call that the first stop has
// aborted is left alone.
func (st *requestedStops) repeatStop(t *Thread, s *RawSample) error {
	t.noteLostStop(StopRecord{Time: s.StopTime, Cause: s.StopCause, CallEffect: s.CallEffect})
	t.stops.notStopped = s.NotStopped // fillSample has taken it
	if st.mode != ModeAlwaysStop && t.trySuppressStop() {
		return errs.InCall
	}
	err := st.request(t, s, true)
	t.stops.notStopped.Refused = t.stops.notStopped.Refused || err != nil
	return err
}

// reopenAfterExec opens the memory of the new program if a copy had n = 0 bytes because of an exec. Precondition: this
// process has not stopped the thread.
func (t *Thread) reopenAfterExec(n int) bool {
	if n > 0 || t.Memory == nil {
		return false
	}
	before := t.Memory.Space()
	return t.Memory.Renew(t.PID) != before
}

func (st *requestedStops) cancelRequestedBefore(before int64, done func(*Thread, *RawSample, error)) {
	for _, t := range st.pending {
		if t.stops.requestedAt <= before {
			st.Cancel(t)
			done(t, nil, ptrace.ErrTimeout)
		}
	}
}

// Cancel ends a thread's pending observation, without a call of done. It returns false if there was none.
func (st *requestedStops) Cancel(t *Thread) bool {
	if !t.Pending() {
		return false
	}
	delete(st.pending, t.stops.attachment)
	st.pool.Put(t.stops.sample)
	t.stops.sample = nil
	t.files.CloseKeptSchedstat()
	st.ctl.Cancel(t.stops.attachment)
	return true
}

const (
	leaveTimeout = 500e6 // longest FinishOrCancelAll, ns
	leavePoll    = 5e6   // one wait in it, ns
)

// FinishOrCancelAll finishes pending observations for at most 0.5 s and cancels the others, before [ptrace.Suspending]
// stops this process. The caller then closes the controller.
func (st *requestedStops) FinishOrCancelAll(done func(*Thread, *RawSample, error)) {
	st.ctl.AcknowledgeSuspend()
	st.finishUntil(0, done)
	st.markQueued()
	for end := procmem.Now() + leaveTimeout; st.PendingStops() > 0 && procmem.Now() < end; {
		st.finishUntil(procmem.Now()+leavePoll, done)
	}
	st.CancelAll(done)
}

// CancelAll cancels all pending observations.
func (st *requestedStops) CancelAll(done func(*Thread, *RawSample, error)) {
	st.cancelRequestedBefore(math.MaxInt64, done)
}
