package look

import (
	"sync/atomic"

	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// Thread is one thread and what is remembered of its last look. All but Needed
// belongs to the tracer's thread.
type Thread struct {
	PID, TID int
	// Owner is the caller's.
	Owner any
	// Extra, if set, copies further memory in a freeze.
	Extra ptrace.Extra
	// Memory is the process's ([ptrace.Request]); nil: whatever is mapped is read, whoever has to provide it.
	Memory *procmem.Memory

	files    *procmem.ThreadFiles
	base     baseline
	begun    int64 // when the pending look was interrupted, CLOCK_MONOTONIC
	before   procmem.SchedStat
	putOff   bool // the tracer's wake-up took the processor from it
	queued   bool // it waits for the tracer's processor
	judged   bool // putOff says so of the look that is under way
	suspect  bool // it did not stop where it was at its last look: it may be put off again
	pending  *Shot
	freezing *ptrace.Look // valid while pending
	tls      uint64       // the thread pointer, 0 until a freeze has seen it
	pause    int64        // how long a freeze is expected to take, ns; 0: not known
	need     atomic.Int64
	also     alsoPlaces
	again    atomic.Bool         // the last shot is not to be reused
	root     atomic.Uint64       // stack pointer of the outermost frame; 0: not known
	top      atomic.Uint64       // no copy goes beyond, see Top; 0: not known
	topless  atomic.Bool         // that was wrong once
	asleepIn procmem.SyscallInfo // the call of a sleeper that is frozen for a register; Nr −1: none
	kept     kept
	exits    exits
	alone    *alone // nil: no look has made it give up a call
	// awaitsRoot: the last peek was where registers are kept, but its stack was another, maybe beyond the frames only.
	awaitsRoot atomic.Bool
	remembered remembered
	outlined   atomic.Pointer[outlined] // what freezes copy by; nil: all in one piece
}

// baseline is the count of arrivals on a processor at a moment when the thread
// was off the processor.
type baseline struct {
	runs uint64
	// returns is how many arrivals more lead back into the same stop: a thread
	// that was stopped by job control runs once, inside of the kernel, when it
	// is let go by ptrace.
	returns uint64
	state   State
	valid   bool
	// letGo is when the thread was let go after a stop, CLOCK_MONOTONIC in nanoseconds, 0 if it was
	// not stopped, and cpu its processor time then.
	letGo int64
	cpu   uint64
}

// NewThread prepares for looking at a thread. Nothing is opened yet.
func NewThread(pid, tid int, budget *procmem.Budget) *Thread {
	t := &Thread{PID: pid, TID: tid, files: procmem.OpenThread(pid, tid, budget)}
	t.need.Store(firstCopy)
	return t
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

// AlsoDeep makes the next looks copy n bytes from the address on, where [Thread.Also] copies few: for a single look at
// a stack that is deep beyond a change of stacks. An address just beyond what such a look has copied makes that copy longer.
func (t *Thread) AlsoDeep(addr, n uint64) {
	if !t.also.extend(addr, n) {
		t.also.add(addr, min(n, deepCopy))
	}
}

// CopyDeep makes the next looks copy that many bytes of stack, also more than the usual
// limit of a stack: for a single look at a stack that is known to be deeper.
func (t *Thread) CopyDeep(n uint64) { t.need.Store(int64(min(max(n, leastCopy), deepCopy))) }

// CopyUpTo makes the next looks copy that many bytes of stack, as far as there are
// as many, within the usual limit of a stack.
func (t *Thread) CopyUpTo(n int) { t.need.Store(min(max(int64(n), leastCopy), mostCopy)) }

// Asleep reports whether the thread was off the processor at its last look, and not
// only stopped by it: then it does not run again before something wakes it.
func (t *Thread) Asleep() bool { return t.base.valid && t.base.state != Running }

// unchanged reports whether the thread has not run since its baseline.
func (t *Thread) unchanged(s procmem.SchedStat) bool {
	return t.base.valid && t.base.returns == 0 && s.Runs == t.base.runs
}
