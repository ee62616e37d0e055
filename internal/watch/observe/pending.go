// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"prywalk/internal/base/errs"
	"prywalk/ptrace"
)

// pendingLimit is the longest time that a stop is pending.
const pendingLimit = 2 * time.Second

// Attached counts pending stops, including cancelled ones of threads that have not stopped.
func (st *requestedStops) Attached() int { return st.ctl.Attached() }

// PendingStops counts pending stops without cancelled ones.
func (st *requestedStops) PendingStops() int { return len(st.pending) }

// Next finishes one pending observation, and returns its thread with a raw sample or an error. The thread is nil at the
// deadline, or if none is attached, not even by a cancelled stop. An observation older than 2 s is cancelled:
// [ptrace.ErrTimeout]. A timeout is no refusal ([sample.NotStopped]): the thread's time goes to its next sample.
func (st *requestedStops) Next(deadline ptrace.Moment) (*Thread, *RawSample, error) {
	for {
		var attachment *ptrace.Attachment
		if st.unmarked {
			if attachment = st.ctl.WaitAny(0); attachment == nil {
				st.markQueued()
			}
		}
		if attachment == nil {
			attachment = st.ctl.WaitAny(deadline)
		}
		if attachment == nil {
			return st.cancelOverdue()
		}
		if t, s, err := st.finishOne(attachment); t != nil {
			return t, s, err
		}
	}
}

func (st *requestedStops) markQueued() {
	st.unmarked = false
	for attachment, t := range st.pending {
		if !t.skid.decided && st.preemption.decide(t) {
			attachment.MarkQueued()
		}
	}
}

// NextStopped is Next without sleep and time-out: it busy-waits until the deadline, or returns at once if that is 0.
func (st *requestedStops) NextStopped(deadline ptrace.Moment) (*Thread, *RawSample, error) {
	for attachment := st.ctl.SpinAny(deadline); attachment != nil; attachment = st.ctl.SpinAny(0) {
		if t, s, err := st.finishOne(attachment); t != nil {
			return t, s, err
		}
	}
	return nil, nil, nil
}

// finishOne returns nil if the stop was cancelled, or is requested again because of an exec.
func (st *requestedStops) finishOne(attachment *ptrace.Attachment) (*Thread, *RawSample, error) {
	t := st.pending[attachment]
	if t == nil {
		st.ctl.Cancel(attachment)
		return nil, nil, nil
	}
	delete(st.pending, attachment)
	s, err := st.finish(t, attachment)
	if err == nil && t.reopenAfterExec(len(s.Mem.Stack.Bytes)) {
		if err = st.repeatStop(t, s); err == nil {
			return nil, nil, nil
		}
	}
	if err != nil {
		st.pool.Put(s)
		s = nil
	}
	return t, s, err
}

// repeatStop requests the stop again whose sample s has no memory of the new program. A call that the first stop has
// aborted is left alone.
func (st *requestedStops) repeatStop(t *Thread, s *RawSample) error {
	t.recordLostStop(s.Stop)
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
	return t.Memory.Renew(t.ID.PID) != before
}

func (st *requestedStops) cancelOverdue() (*Thread, *RawSample, error) {
	before := ptrace.Now().Add(-pendingLimit)
	for _, t := range st.pending {
		if t.stops.requestedAt <= before {
			st.Cancel(t)
			return t, nil, ptrace.ErrTimeout
		}
	}
	return nil, nil, nil
}

// Cancel ends a thread's pending observation. It returns false if there was none.
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

const leaveTimeout = 500 * time.Millisecond

// AcknowledgeSuspend makes Next wait although this process is about to be stopped ([ptrace.Suspending]), and
// returns until when it may. The caller then cancels the other observations, and closes the controller.
func (st *requestedStops) AcknowledgeSuspend() (deadline ptrace.Moment) {
	st.ctl.AcknowledgeSuspend()
	return ptrace.Now().Add(leaveTimeout)
}
