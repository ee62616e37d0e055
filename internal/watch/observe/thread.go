// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"sync/atomic"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
	"prywalk/ptrace"
)

// ThreadID has the ids of a thread and of its process.
type ThreadID struct{ PID, TID int }

// Thread is a thread and its last observation. It belongs to the observer's OS thread, except its [WalkFeedback].
type Thread struct {
	ID          ThreadID
	OtherMemory ptrace.OtherMemory // or nil
	Plans       *Plans             // the first until a walk sets one, the others always; or nil
	Memory      *procmem.Memory    // nil means that absent pages are read, too
	NoUserSpace bool               // it never runs in user space (io_uring), so its place is known without a stop

	files                  *procmem.ThreadFiles
	clocks                 procmem.SchedStat // read last
	skid                   skidState
	kernelSampleStackBytes int // 0 means not sampled
	stopThoughSampled      bool
	sleep                  sleepEvidence
	stops                  stopState
	abortedCall            *abortedCall // nil means none
	copies                 copyState
	feedback               *WalkFeedback
	hints                  *copyHints // of this observation
}

type stopState struct {
	sample       *RawSample // nil means that none is pending
	attachment   *ptrace.Attachment
	requestedAt  ptrace.Moment
	awaitsTracer bool
	queuedSince  ptrace.Moment // 0 means not
	expectedTime time.Duration // of the next stop; 0 means unknown
	code32       code32
	notStopped   sample.NotStopped
	lost         []StopRecord // since TakeLostStops
}

type copyState struct {
	tls         uint64 // at the last stop
	tlsSpace    uint64 // address space of tls
	stackBytes  int
	otherBytes  int         // a maximum that decays
	innerTID    int         // in the innermost pid namespace; 0 means not read yet
	foundAnchor frames.Addr // by the last plan, or 0
	seenRetries uint32
}

// Plans passes a process's plans that find their anchor to the observing goroutine; nil means none.
type Plans = atomic.Pointer[[]*managed.Plan]

// NewThread returns a thread whose files are not open yet.
func NewThread(pid, tid int, budget *procmem.FDBudget) *Thread {
	id := ThreadID{pid, tid}
	t := &Thread{ID: id, files: procmem.OpenThread(pid, tid, budget), feedback: newFeedback(id)}
	t.takeHints()
	return t
}

func (t *Thread) takeHints() { t.hints = t.feedback.handedOver.Load() }

// SetFirstCopy sets the size of the first copy of the stack. Precondition: no walk was made.
func (t *Thread) SetFirstCopy(n int64) {
	t.feedback.SetCopySize(int(n))
	t.takeHints()
}

// SetFirstStackEnd sets the end of the thread's first stack, or 0. Its outermost frames are also copied from another
// stack. Precondition: no walk was made.
func (t *Thread) SetFirstStackEnd(stackEnd frames.Addr) {
	t.feedback.copies.setFirstStackEnd(stackEnd)
	t.feedback.handOver()
	t.takeHints()
}

// SetRate sets the number of observations per second. Precondition: no walk was made.
func (t *Thread) SetRate(hz float64) {
	t.feedback.copies.setRate(hz)
}

// Close closes the thread's files. Precondition: no observation is pending.
func (t *Thread) Close() { t.files.Close() }

// Files returns the thread's files under /proc.
func (t *Thread) Files() *procmem.ThreadFiles { return t.files }

// Pending reports whether a stop was begun and not finished.
func (t *Thread) Pending() bool { return t.stops.sample != nil }

// AwaitsTracer reports whether the pending thread waits for the tracer's CPU.
func (t *Thread) AwaitsTracer() bool { return t.Pending() && t.stops.awaitsTracer }

// ResetBaseline makes the next observation a whole one. used are the last clocks that were used, or zero.
func (t *Thread) ResetBaseline(used procmem.SchedStat) {
	t.sleep.base.valid, t.clocks = false, used
}

// LastClocks returns the clocks that were read last, by Begin or before the interrupt of a stop, or those of
// ResetBaseline.
func (t *Thread) LastClocks() procmem.SchedStat { return t.clocks }

// Feedback returns the part that belongs to the walking goroutine.
func (t *Thread) Feedback() *WalkFeedback { return t.feedback }

// Asleep reports whether the thread was asleep or in a group stop at its last observation.
func (t *Thread) Asleep() bool { return t.sleep.base.valid && t.sleep.base.state != sample.Running }

// TakeNotStopped returns and resets how the thread was not stopped since its last observation.
func (t *Thread) TakeNotStopped() (n sample.NotStopped) {
	n, t.stops.notStopped = t.stops.notStopped, n
	return n
}

// ManyCalls reports whether only stops on the tracer's CPU show the thread's place (skid.go).
func (t *Thread) ManyCalls() bool { return t.skid.many }

func (t *Thread) threadPointer() uint64 {
	if t.copies.tlsSpace != t.addressSpace() {
		return 0
	}
	return t.copies.tls
}

func (t *Thread) addressSpace() uint64 {
	if t.Memory == nil {
		return 0
	}
	return t.Memory.Space()
}
