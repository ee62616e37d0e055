// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"math"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// Thread is a thread and the state of its last observation. It belongs to the tracer's thread, but for its
// [WalkFeedback].
type Thread struct {
	PID, TID int
	// Extra copies further memory in a stop; may be nil.
	Extra ptrace.Extra
	// Plans has the plan until a walk sets one for this thread; may be nil.
	Plans *Plans
	// Memory is the process's ([ptrace.Request]); nil: all is read, even absent pages.
	Memory *procmem.Memory

	files *procmem.ThreadFiles
	clockReads
	base        baseline
	skid        skid.Thread
	sampled     int   // bytes of stack; 0: not sampled
	queuedSince int64 // when it was first found queued, CLOCK_MONOTONIC ns; 0: it was not
	// restless: not unchanged since its last passive read.
	restless   bool
	futex      futexSleep
	kept       keptRegs
	gaveUpCall *gaveUpCall // nil: no call gave up
	walkState
	underWay
	lastStop
	planState
}

type clockReads struct {
	before procmem.SchedStat // as of the last observation
	first  procmem.SchedStat // as of the first
}

type walkState struct {
	feedback     *WalkFeedback
	hints        hintBuffer
	retried      uint32 // CopyHints.Retries then
	retryBackoff retryBackoff
}

type underWay struct {
	pending  *RawSample     // nil: none
	stopping *ptrace.Tracee // valid while pending
	begun    int64          // CLOCK_MONOTONIC ns
	queued   bool           // for the tracer's processor
}

type lastStop struct {
	stoppedAt frames.Addr // stack pointer
	tls       uint64      // thread pointer; 0 before the first stop
	copied    int         // bytes of stack
	regions   int         // bytes of further regions
	pause     int64       // expected next, ns; 0: not known
	lostStop  int64       // ns, see TakeLostStop
}

type planState struct {
	nodes  *nodeCache
	ranges *rangeCache
	sought frames.Addr // 0: nothing
}

// Plans passes the plan of a process's run-time system to the observing goroutine.
type Plans = atomic.Pointer[managed.Plan]

// NewThread prepares the observation of a thread, and opens nothing yet.
func NewThread(pid, tid int, budget *procmem.Budget) *Thread {
	t := &Thread{PID: pid, TID: tid, files: procmem.OpenThread(pid, tid, budget)}
	first := CopyHints{sizeHints: sizeHints{Bytes: firstCopy, ToEnd: true}}
	t.hints.init(first)
	t.feedback = newFeedback(t, first)
	return t
}

// CopyFirst makes the first observation copy up to n bytes of stack, within its usual limits. Precondition: no walk.
func (t *Thread) CopyFirst(n int64) {
	t.feedback.hints.Bytes = int(min(max(n, firstCopy), mostCopy))
	t.hints.init(t.feedback.hints)
}

// BeganOn sets the end of the thread's first stack; 0: none. It is copied while the thread is on another (SBCL's
// call_into_lisp_first_time), as the first walk may come late. Precondition: no walk.
func (t *Thread) BeganOn(stackEnd frames.Addr) {
	if stackEnd < beganBytes {
		return
	}
	t.feedback.hints.Others[0] = StackRef{At: stackEnd - beganBytes, Began: true}
	t.feedback.others.left[0] = othersLeast
	t.hints.init(t.feedback.hints)
}

// Close closes the thread's files. Precondition: no observation is pending.
func (t *Thread) Close() { t.files.Close() }

// Files gives the thread's files under /proc, for the tracer's thread.
func (t *Thread) Files() *procmem.ThreadFiles { return t.files }

// Pending reports whether a stop was begun and not finished.
func (t *Thread) Pending() bool { return t.pending != nil }

// LastSched gives the clocks that the last call of Begin read.
func (t *Thread) LastSched() procmem.SchedStat { return t.before }

// Ran gives arrivals on a processor and its time in ns since the first observation.
func (t *Thread) Ran() (runs, cpu int64) {
	return int64(t.before.Runs - t.first.Runs), int64(t.before.CPU - t.first.CPU)
}

// Feedback gives the thread's WalkFeedback. It belongs to the goroutine that walks.
func (t *Thread) Feedback() *WalkFeedback { return t.feedback }

// Asleep reports whether the thread was off the processor at its last observation, not only by a stop.
func (t *Thread) Asleep() bool { return t.base.valid && t.base.state != sample.Running }

// retryBackoff decides when a sleeper with an incomplete stack is observed again: the 2nd, 8th, 32nd time and so on.
type retryBackoff struct{ shown, next uint32 }

const (
	firstDoubt  = 2
	doubtFactor = 4
)

// again counts a repetition, and reports whether to observe again.
func (d *retryBackoff) again(incomplete bool) bool {
	if !incomplete {
		*d = retryBackoff{}
		return false
	}
	if d.next == 0 {
		d.next = firstDoubt
	}
	if d.shown++; d.shown < d.next {
		return false
	}
	if d.next <= math.MaxUint32/doubtFactor {
		d.next *= doubtFactor
	}
	return true
}
