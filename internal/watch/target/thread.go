// SPDX-License-Identifier: Apache-2.0

package target

import (
	"sync/atomic"
	"time"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
)

// Thread is a thread from its first listing to its last interval.
type Thread struct {
	// The tracer writes these before the thread's first event.
	ID            sample.ThreadID // 0 means several threads
	Proc          *Process
	TID           int
	Name          string // the kernel's, at the first listing
	FirstListedAt monotonic.Moment
	CreatedAt     monotonic.Moment // 0 means that its creation was not observed
	Observed      *observe.Thread  // the tracer's, but for its Feedback

	// NamedByRuntime reports that the aggregator has the thread's name from a runtime.
	NamedByRuntime atomic.Bool

	// Only the tracer and its engine use these.
	Gone       bool             // set by [Backoffs.Forget]
	Unchanged  sample.Unchanged // unreported ticks
	backoff    threadBackoff
	FromZero   bool       // its clocks count from zero within the recording
	EnginePart ThreadPart // nil if it is stopped when it runs

	AccountedClocks procmem.SchedStat // last clocks used for its account
	TriedTick       int64             // last observation, also one not admitted
	ObservedTick    int64             // last observation
	LastPass        PassReading
	listGeneration  int64
	End             attribute.End // complete when it has ended

	Walk WalkPart // only the aggregator uses it
}

// WalkPart is what the aggregator knows of a thread.
type WalkPart struct {
	Begun      bool
	Name, Role string // as last read; Role "" means unknown
	NameReadAt monotonic.Moment
	InnerTID   int // in its own pid namespace
	// What the thread waited for at the last sample, and the thread that owns it, as in a recording.
	WaitsFor string
	Owner    int

	File LastFile
}

// LastFile is the description of a file that a thread has waited for.
type LastFile struct {
	FD   int
	Link string
	Text string
	At   monotonic.Moment
}

// PassReading is a thread's clocks in the last pass over all threads of the process that has read them; number 0 means
// none.
type PassReading struct {
	Number int64
	Clocks procmem.SchedStat
}

// IsSince reports whether the pass is pass or a later one.
func (r *PassReading) IsSince(pass int64) bool { return r.Number >= pass }

// NameEvery is the greatest age of a name: programs name threads after starting them.
const NameEvery = time.Second

// IsFirst reports whether it is the process's first thread.
func (th *Thread) IsFirst() bool { return th.TID == th.Proc.Code.PID }

// Exists reports whether the thread exists; the first one does also after an exec by another.
func (th *Thread) Exists() bool {
	_, err := th.Observed.Files().SchedStat()
	return err == nil
}

// ExemptFromStops makes the tracer not stop the thread while it runs and its stack has at most stackBytes. 0 ends the
// exemption.
func (th *Thread) ExemptFromStops(stackBytes int) { th.Observed.SetKernelSampleStack(stackBytes) }
