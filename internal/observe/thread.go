// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"math"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/observe/copyplan"
	"prywalk/internal/observe/copysize"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// Thread is a thread and its last observation. It belongs to the observer's OS thread, except its [WalkFeedback].
type Thread struct {
	PID, TID    int
	OtherMemory ptrace.OtherMemory // further memory to copy in a stop, or nil
	Plans       *Plans             // the process's plan until a walk sets one, or nil
	Memory      *procmem.Memory    // if nil, absent pages are read, too

	files    *procmem.ThreadFiles
	innerTID int // in the process's pid namespace; 0: not read yet
	clockReads
	base        baseline
	skid        skid.ThreadState
	sampleStack int   // bytes of stack in the kernel's samples; 0 if not sampled
	queuedSince int64 // first found queued since the last stop, CLOCK_MONOTONIC ns; 0 if not
	ranBetween  bool  // read passively, and not found unchanged since
	futex       futexSleep
	kept        keptRegs
	gaveUpCall  *gaveUpCall // nil if no call gave up
	notStopped  sample.NotStopped
	walkState
	pendingStop
	lastStop
	lastPlan copyplan.Last
}

type clockReads struct {
	lastClocks  procmem.SchedStat
	firstClocks procmem.SchedStat
}

type walkState struct {
	feedback     *WalkFeedback
	hints        hintBuffer
	retried      uint32 // CopyHints.Retries at the last takeHints
	retryBackoff retryBackoff
}

type pendingStop struct {
	pending      *RawSample     // nil if there is none
	stopping     *ptrace.Tracee // valid while pending
	begun        int64          // CLOCK_MONOTONIC ns
	awaitsTracer bool           // it waits for the tracer's CPU
}

type lastStop struct {
	stackPointer     frames.Addr
	tls              uint64 // thread pointer at the last stop, 0 before the first one
	tlsSpace         uint64 // address space of tls, [procmem.Memory.Space]
	stackBytes       int
	otherBytes       int   // copied lately: a maximum that decays
	expectedStopTime int64 // of the next stop, ns; 0 if unknown
	lostStop         int64 // length of a stop without a sample, ns
}

// Plans passes a process's plan to the observing goroutine.
type Plans = atomic.Pointer[managed.Plan]

// NewThread opens no file yet.
func NewThread(pid, tid int, budget *procmem.FDBudget) *Thread {
	t := &Thread{PID: pid, TID: tid, files: procmem.OpenThread(pid, tid, budget)}
	t.feedback = newFeedback(t)
	t.hints.init(t.feedback.hints())
	return t
}

// SetFirstCopy sets the size of the first copy of the stack, within its limits. Precondition: no walk was made.
func (t *Thread) SetFirstCopy(n int64) {
	t.feedback.sizes.SetBytes(uint64(max(n, 0)), copysize.Max)
	t.hints.init(t.feedback.hints())
}

// SetFirstStackEnd sets the end of the thread's first stack, or 0. Its outermost frames are copied while the thread is
// on another (SBCL's call_into_lisp_first_time). Precondition: no walk was made.
func (t *Thread) SetFirstStackEnd(stackEnd frames.Addr) {
	t.feedback.sizes.SetFirstStackEnd(stackEnd)
	t.hints.init(t.feedback.hints())
}

// Close closes the thread's files. Precondition: no observation is pending.
func (t *Thread) Close() { t.files.Close() }

// Files returns the thread's files under /proc.
func (t *Thread) Files() *procmem.ThreadFiles { return t.files }

// Pending reports whether a stop was begun and not finished.
func (t *Thread) Pending() bool { return t.pending != nil }

// ForgetLast makes the next observation a whole one: what the last ones have read is not used. used are the last clocks
// that were, or zero.
func (t *Thread) ForgetLast(used procmem.SchedStat) { t.base.valid, t.lastClocks = false, used }

// LastSched returns the clocks that Begin read.
func (t *Thread) LastSched() procmem.SchedStat { return t.lastClocks }

// Ran returns the arrivals on a CPU and the CPU time, in ns, since the first observation.
func (t *Thread) Ran() (runs, cpu int64) {
	return int64(t.lastClocks.Runs - t.firstClocks.Runs), int64(t.lastClocks.CPU - t.firstClocks.CPU)
}

// Feedback returns what the walking goroutine uses of the thread.
func (t *Thread) Feedback() *WalkFeedback { return t.feedback }

// Asleep reports whether the thread was off the CPU at its last observation, not only by a stop.
func (t *Thread) Asleep() bool { return t.base.valid && t.base.state != sample.Running }

// retryBackoff repeats reads of a sleeper with an incomplete stack: the 2nd, 8th, 32nd time and so on.
type retryBackoff struct{ unchanged, next uint32 }

const (
	firstRetry  = 2
	retryFactor = 4
)

// countUnchanged reports whether to read an unchanged thread again.
func (r *retryBackoff) countUnchanged(incomplete bool) bool {
	if !incomplete {
		*r = retryBackoff{}
		return false
	}
	if r.next == 0 {
		r.next = firstRetry
	}
	r.unchanged++
	if r.unchanged < r.next {
		return false
	}
	if r.next <= math.MaxUint32/retryFactor {
		r.next *= retryFactor
	}
	return true
}
