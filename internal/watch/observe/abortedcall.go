// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"
	"time"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

// # Calls that each stop aborts
//
// A call that begins again after each stop ([ptrace.Repair.RepeatsWork]) never ends if it is longer than a tick. So the
// thread is not stopped while it seems to be in the call: the words around its stack pointer are unchanged, and it uses
// no more user than system time. This is no proof, so it holds for a limited CPU time, which is attributed to the
// call's stack. After harm in such a call (the program gets an error, or a supervisor gets the call twice), no stop
// is made for a time that doubles with each harm.

const (
	// The CPU time of a call doubles each time it is aborted again.
	minPresumed   = 2 * time.Second
	maxPresumed   = 64 * time.Second
	userReadEvery = 40 * time.Millisecond // of CPU time
	// The time without stops after harm doubles with each harm.
	minSuppressed = 100 * time.Millisecond
	maxSuppressed = 100 * time.Second

	wordsAround = 2 << 10 // bytes
)

type abortedCall struct {
	inCall      bool
	sp          frames.Addr
	nr          int64
	words       [wordsAround]byte
	wordsAt     frames.Addr
	wordCount   int // bytes of words; 0 means that they are read when it is first asked whether the thread is in the call
	cpu         time.Duration
	userReadAt  time.Duration // in CPU time
	userTicks   uint64
	presumedCPU time.Duration

	suppressFor   time.Duration // 0 means no harm yet
	suppressUntil ptrace.Moment
}

func (t *Thread) updateAbortedCall(stack frames.Region, stop *ptrace.Stop) {
	t.abortedCall.markLeft()
	if stop.Repair.RepeatsWork {
		t.recordAborted(stack, stop)
	}
}

func (t *Thread) recordAborted(stack frames.Region, stop *ptrace.Stop) {
	if t.abortedCall == nil {
		t.abortedCall = new(abortedCall)
	}
	t.abortedCall.set(stack, stop, t.userTime())
}

func (call *abortedCall) set(stack frames.Region, stop *ptrace.Stop, userTicks uint64) {
	sp := stop.Regs.SP()
	if call.nr != stop.Nr || call.sp != sp || call.presumedCPU == 0 {
		call.presumedCPU = minPresumed / 2
	}
	call.presumedCPU = min(2*call.presumedCPU, maxPresumed)
	call.nr = stop.Nr
	call.sp = sp
	call.cpu = time.Duration(stop.Sched.CPU)
	call.wordsAt, call.wordCount = sp-redZone, 0
	if sp-stack.Addr <= redZone { // else nothing was copied
		call.wordsAt, call.wordCount = stack.Addr, copy(call.words[:], stack.Bytes)
	}
	call.inCall = true
	call.userReadAt, call.userTicks = time.Duration(stop.Sched.CPU), userTicks
	if stop.Repair.Broken || stop.Repair.ReportedTwice {
		call.suppressFor = min(max(2*call.suppressFor, minSuppressed), maxSuppressed)
		call.suppressUntil = stop.Times.DetachedAt.Add(call.suppressFor)
	}
}

func (call *abortedCall) wasHarmed() bool { return call != nil && call.suppressFor > 0 }

func (call *abortedCall) markLeft() {
	if call != nil {
		call.inCall = false
	}
}

// trySuppressStop reports whether the thread must not be stopped now, and updates notStopped.
func (t *Thread) trySuppressStop() bool {
	call := t.abortedCall
	if call == nil || !call.inCall && call.suppressUntil == 0 {
		return false
	}
	now := ptrace.Now()
	call.inCall = call.inCall && call.seemsToLast(t)
	if call.inCall {
		t.stops.notStopped.InCall = procmem.ReadingAt(t.clocks, int64(now))
		return true
	}
	if now < call.suppressUntil {
		t.stops.notStopped.Other = procmem.ReadingAt(t.clocks, int64(now))
		return true
	}
	call.suppressUntil = 0
	return false
}

func (call *abortedCall) seemsToLast(t *Thread) bool {
	cpu := time.Duration(t.clocks.CPU)
	if cpu > call.cpu+call.presumedCPU || !call.hasSameWords(t) {
		return false
	}
	if cpu < call.userReadAt+userReadEvery {
		return true
	}
	user := t.userTime()
	halfOfCPU := (cpu - call.userReadAt) / 2
	userTime := (user - call.userTicks) * procmem.ClockTick
	call.userReadAt, call.userTicks = cpu, user
	return userTime < uint64(halfOfCPU)
}

// hasSameWords compares the words around the stack pointer with those of the stop. If the stop has copied none, the
// first call keeps the present words for the next ones, and returns true if it could read any.
func (call *abortedCall) hasSameWords(t *Thread) bool {
	if call.wordCount == 0 {
		if t.Memory != nil { // else the read could wait for pages
			call.wordCount = t.Memory.Copy(t.ID.TID, call.wordsAt, call.words[:])
		}
		return call.wordCount > 0
	}
	var words [wordsAround]byte
	n, err := t.copy(call.wordsAt, words[:call.wordCount])
	return err == nil && n == call.wordCount && bytes.Equal(words[:n], call.words[:n])
}

// userTime returns the user time in clock ticks, 0 if unreadable.
func (t *Thread) userTime() uint64 {
	var st procmem.Stat
	_ = t.files.Stat(&st)
	return st.UTime
}
