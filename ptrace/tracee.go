// SPDX-License-Identifier: Apache-2.0

package ptrace

// Tracee is one stop of one thread, from Begin to Finish or Cancel. It is then reused.
type Tracee struct {
	// Tag is for the caller. Begin sets it to zero.
	Tag uint64

	tid       int
	index     int // its index in the table
	state     traceeState
	abandoned bool
	sleeping  bool  // call and runs are set
	queued    bool  // see MarkQueued
	kind      Kind  // valid once stopped
	signal    int32 // to pass on at the detach
	call      SyscallInfo
	runs      uint64
	before    SchedStat
	beforeOK  bool
	began     threadCounters // as of just after the interrupt
	times     Times
	repair    Repair
}

type traceeState uint8

const (
	traceeFree traceeState = iota
	traceePending
	traceeStopped
	traceeGone
)

// Kind is the kind of a stop.
type Kind uint8

// The states of ptrace(2) in which a thread is stopped.
const (
	// KindNone means not stopped.
	KindNone Kind = iota
	// KindInterrupt is the stop of PTRACE_INTERRUPT.
	KindInterrupt
	// KindSignal is a signal-delivery-stop.
	KindSignal
	// KindGroup is a group stop (SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU).
	KindGroup
)

// TID gives the thread.
func (tracee *Tracee) TID() int { return tracee.tid }

// Interrupted is the time of the interrupt, on the clock of [Now].
func (tracee *Tracee) Interrupted() int64 { return tracee.times.Interrupt }

// Before gives the clocks as of just before the interrupt, if they were read.
func (tracee *Tracee) Before() (SchedStat, bool) { return tracee.before, tracee.beforeOK }

// Ended reports whether the thread ended before it stopped: Finish gives [ErrGone].
func (tracee *Tracee) Ended() bool { return tracee.state == traceeGone }

// Sleeping sets the call in which the thread slept before Begin, and its run count from before call was read. On arm64
// some calls can be restarted only with these, because the result overwrites the first argument. Precondition: Finish
// was not called.
func (tracee *Tracee) Sleeping(call *SyscallInfo, runs uint64) {
	tracee.sleeping, tracee.call, tracee.runs = true, *call, runs
}

// MarkQueued marks a thread that is queued for the processor of the tracer, so that waits do not spin for its stop.
func (tracee *Tracee) MarkQueued() { tracee.queued = true }
