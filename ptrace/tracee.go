// SPDX-License-Identifier: Apache-2.0

package ptrace

// Tracee is one stop of one thread, from Begin to Finish or Cancel, then reused.
type Tracee struct {
	// Tag is the caller's; zero at Begin.
	Tag uint64

	tid       int
	index     int // in the table
	state     traceeState
	abandoned bool
	sleeping  bool // call and runs are set
	queued    bool
	kind      Kind  // once stopped
	signal    int32 // to pass on at the detach
	call      SyscallInfo
	runs      uint64
	before    SchedStat
	beforeOK  bool
	began     threadCounters // after the interrupt
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

// Stopped states of ptrace(2).
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
func (l *Tracee) TID() int { return l.tid }

// Interrupted is the time of the interrupt, on the clock of [Now].
func (l *Tracee) Interrupted() int64 { return l.times.Interrupt }

// Before gives the clocks just before the interrupt, if read.
func (l *Tracee) Before() (SchedStat, bool) { return l.before, l.beforeOK }

// Ended reports whether the thread ended before it stopped: Finish gives [ErrGone].
func (l *Tracee) Ended() bool { return l.state == traceeGone }

// Sleeping records, before Finish, the call in which the thread slept before Begin, and an earlier count of
// arrivals. arm64 restarts some calls only with it, because the result overwrites the first argument.
func (l *Tracee) Sleeping(call *SyscallInfo, runs uint64) {
	l.sleeping, l.call, l.runs = true, *call, runs
}

// Queued marks a thread queued for this processor: waits do not spin for it.
func (l *Tracee) Queued() { l.queued = true }
