package look

import "prywalk/internal/procmem"

// # Threads that make many system calls
//
// An interrupt takes some microseconds to reach another processor. The thread has been
// told by then that something is to be done, and sees that at the end of any system call
// (kernel/entry/common.c, exit_to_user_mode_loop): if it comes to one first, it stops
// there. What a thread computes between two system calls for a time shorter than that is
// hardly ever seen, and the calls get its share. redis at work on another processor than
// the tracer's seemed to spend 38 % of its time in read, where 6 % is right.
//
// The tracer's own processor has no such gap: its timer's interrupt is served there and
// then, and the thread that it puts off stays where it was. So of threads that make many
// system calls, only looks at those that the tracer has put off, or that are off their
// processor, say where processor time goes; the time of others is carried to the
// next such look. And the tracer sleeps on the processor of such a thread.

const (
	// exitsFrom and exitsTo are the shares of stops at the end of a system call from
	// which a thread is taken to make many, and below which not any more.
	exitsFrom = 0.2
	exitsTo   = 0.03
	// exactFor is for how long time may wait for an exact look, in nanoseconds. It is
	// below the time after which it would be booked as not observed.
	exactFor = 4e9
	// recent is how many stops back the share looks. The first ones are simply averaged:
	// if the very first is at the end of a call, it is not yet known whether that says
	// anything, and its time waits as well.
	recent = 32
	// earlyStops is after how many stops it is believed that a thread does not make many.
	earlyStops = 8
)

// Basis is why a look at a thread that computes says where its processor time goes, or
// does not.
type Basis uint8

// The bases.
const (
	// Exact: the thread was asleep, or the look came from its own processor.
	Exact Basis = iota
	// Early: it was one of the first looks, and it is not known yet whether the thread
	// makes many system calls. If it turns out that it does, the look says nothing.
	Early
	// FewCalls and ManyCalls: that is known by now.
	FewCalls
	ManyCalls
)

// exits is what is known of how a thread stops.
type exits struct {
	share   float64 // of its stops at the end of a system call, lately
	stops   float64 // how many there were, recent at most
	many    bool
	exactAt int64 // when it was last looked at exactly, or was first taken to make many, CLOCK_MONOTONIC ns
}

// stopped takes note of a stop of a thread that was on a processor.
func (e *exits) stopped(now int64, inSyscall bool) {
	at := 0.0
	if inSyscall {
		at = 1
	}
	e.stops = min(e.stops+1, recent)
	e.share += (at - e.share) / e.stops
	many := e.share > exitsFrom || e.many && e.share >= exitsTo
	if many && !e.many {
		e.exactAt = now
	}
	e.many = many
}

// skewed reports whether a look at a moment, which was not exact, is no measure of where
// processor time goes.
func (e *exits) skewed(now int64) bool {
	return e.many && now-e.exactAt < exactFor
}

// basis tells what a look is worth that was not exact.
func (e *exits) basis() Basis {
	switch {
	case e.many:
		return ManyCalls
	case e.stops < earlyStops:
		return Early
	}
	return FewCalls
}

// judge decides whether the time that a thread has computed goes to the stack of this
// freeze: it was on a processor, and the look shows where.
func (l *Looker) judge(t *Thread, at int64) (onCPU bool, basis Basis) {
	if !l.onCPU(t) {
		return false, t.exits.basis()
	}
	t.exits.stopped(at, l.stop.InSyscall)
	if t.putOff {
		t.exits.exactAt = at
		return true, Exact
	}
	return !t.exits.skewed(at), t.exits.basis()
}

// ManyCalls reports whether the thread makes so many system calls that it is looked at
// exactly only from its own processor.
func (t *Thread) ManyCalls() bool { return t.exits.many }

// Processor tells on which processor a thread ran when it was last looked at; −1 if the
// kernel does not say.
func (l *Looker) Processor(t *Thread) int {
	if t.putOff {
		return l.put.processor(l.wake())
	}
	var st procmem.Stat
	if t.files.Stat(&st) != nil {
		return -1
	}
	return st.Processor
}
