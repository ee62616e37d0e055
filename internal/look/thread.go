// SPDX-License-Identifier: Apache-2.0

package look

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

// Thread is one thread and what is remembered of its last look. It belongs to the
// tracer's thread, but for its [Walks].
type Thread struct {
	PID, TID int
	// Owner is the caller's.
	Owner any
	// Extra, if set, copies further memory in a freeze.
	Extra ptrace.Extra
	// Plans, if set, has what is copied besides as long as no walk has said so of this thread; nil: nothing.
	Plans *Plans
	// Memory is the process's ([ptrace.Request]); nil: whatever is mapped is read, whoever has to provide it.
	Memory *procmem.Memory

	files    *procmem.ThreadFiles
	base     baseline
	begun    int64 // when the pending look was interrupted, CLOCK_MONOTONIC
	before   procmem.SchedStat
	first    procmem.SchedStat // what the first look read
	queued   bool              // it waits for the tracer's processor
	pending  *Shot
	freezing *ptrace.Look // valid while pending
	tls      uint64       // the thread pointer, 0 until a freeze has seen it
	pause    int64        // how long a freeze is expected to take, ns; 0: not known
	letGo    int64        // see TakeLetGo
	copied   int          // bytes of stack that the last freeze copied
	regions  int          // bytes of further regions that freezes copy lately
	walks    *Walks
	needs    tripleBuffer // what the walks ask for
	retried  uint32       // of Needs.Retries, as of the last look
	doubts   doubts
	frozenAt frames.Addr         // the stack pointer at the last freeze
	asleepIn procmem.SyscallInfo // the call of a sleeper that is frozen for a register; Nr −1: none
	kept     kept
	skid     skid.Thread
	sampled  int        // the kernel samples it where it runs, with so many bytes of its stack; 0: it does not
	passed   int64      // since when it was found queued, and not stopped for that; CLOCK_MONOTONIC ns, 0: it was not
	alone    *leftAlone // nil: no look has made it give up a call
	nodes    *aloneNodes
	sought   frames.Addr // what a plan's Seek has found last; 0: nothing
	slept    slept
	futex    futexSleep
	// restless: it has not been found unchanged since it was peeked at.
	restless bool
	// awaitsRoot: the last peek was where registers are kept, but its stack was another, maybe beyond the frames
	// only.
	awaitsRoot bool
}

// Plans hands the plan of a process's run-time system from the goroutine that walks to that of the looks.
type Plans = atomic.Pointer[managed.Plan]

// baseline is the count of arrivals on a processor at a moment when the thread
// was off the processor.
type baseline struct {
	runs uint64
	// returns is how many arrivals more lead back into the same stop. A thread that was stopped by job control runs
	// once, inside of the kernel, when it is let go by ptrace.
	returns uint64
	state   sample.State
	valid   bool
	// letGo is when the thread was let go after a stop, CLOCK_MONOTONIC in nanoseconds, 0 if it was
	// not stopped, and cpu its processor time then.
	letGo int64
	cpu   uint64
}

// NewThread prepares for looking at a thread. Nothing is opened yet.
func NewThread(pid, tid int, budget *procmem.Budget) *Thread {
	t := &Thread{PID: pid, TID: tid, files: procmem.OpenThread(pid, tid, budget)}
	first := Needs{Bytes: firstCopy, ToEnd: true}
	t.needs.init(first)
	t.walks = &Walks{needs: first, box: &t.needs, thread: t}
	return t
}

// CopyFirst makes the first look copy n bytes of stack, as far as there are as many. It is called before the first
// walk; less than any first look copies changes nothing.
func (t *Thread) CopyFirst(n int64) {
	t.walks.needs.Bytes = int(min(max(n, firstCopy), mostCopy))
	t.needs.init(t.walks.needs)
}

// Close lets go of the thread's files. A pending look must have been collected or
// given up.
func (t *Thread) Close() { t.files.Close() }

// Files gives the thread's files under /proc, for the tracer's thread.
func (t *Thread) Files() *procmem.ThreadFiles { return t.files }

// Pending reports whether a look was begun and not yet finished.
func (t *Thread) Pending() bool { return t.pending != nil }

// LastSched gives the clocks that the last call of Begin read.
func (t *Thread) LastSched() procmem.SchedStat { return t.before }

// Ran gives the runs on a processor between the first look and the last, and their CPU time in nanoseconds.
func (t *Thread) Ran() (runs, cpu int64) {
	return int64(t.before.Runs - t.first.Runs), int64(t.before.CPU - t.first.CPU)
}

// Walks gives what the walks of the thread's shots find. It belongs to the goroutine that walks.
func (t *Thread) Walks() *Walks { return t.walks }

// Asleep reports whether the thread was off the processor at its last look, and not
// only stopped by it: then it does not run again before something wakes it.
func (t *Thread) Asleep() bool { return t.base.valid && t.base.state != sample.Running }

// doubts decides when a sleeper whose stack is incomplete is looked at again: at the 2nd look that would show the same,
// at the 8th, the 32nd and so on. So a stack that was met too early does not stand for all of a long sleep, and one
// that stays as it is costs little.
type doubts struct{ shown, next uint32 }

const (
	firstDoubt  = 2
	doubtFactor = 4
)

// again takes note that a look would show the last shot once more, and reports whether to make a new one.
func (d *doubts) again(incomplete bool) bool {
	if !incomplete {
		*d = doubts{}
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

// unchanged reports whether the thread has not run since its baseline.
func (t *Thread) unchanged(s procmem.SchedStat) bool {
	return t.base.valid && t.base.returns == 0 && s.Runs == t.base.runs
}
