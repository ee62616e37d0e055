// SPDX-License-Identifier: Apache-2.0

package ptrace

// Attachment is the tracing of one thread for one stop, from Begin to Finish or Cancel, which end its validity.
type Attachment struct {
	// Tag is the caller's. Begin zeroes it.
	Tag uint64

	tid           int
	pid           int    // 0 means unknown
	reinterruptAt Moment // on the clock of Now
	index         int
	state         attachmentState
	cancelled     bool // detached as soon as a wait finds it stopped
	sleeping      bool
	queued        bool
	kind          StopKind // valid once stopped
	signal        int32
	call          SyscallInfo
	runs          uint64
	before        SchedStat
	beforeOK      bool
	atInterrupt   threadCounters // just after the interrupt
	atStop        threadCounters // just after StoppedAt, if late ([Times.late])
	times         Times
	repair        Repair
}

type attachmentState uint8

const (
	attachmentFree attachmentState = iota
	attachmentPending
	attachmentStopped
	attachmentGone
)

// StopKind is the kind of a stop.
type StopKind uint8

// Kinds of stops, as in ptrace(2).
const (
	KindNone      StopKind = iota // not stopped
	KindInterrupt                 // PTRACE_INTERRUPT
	KindSignal                    // signal-delivery-stop
	KindGroup                     // group stop (SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU)
)

// ClocksBefore returns the clocks read just before the interrupt, or at the Begin that continues a cancelled stop;
// false if none were read.
func (attachment *Attachment) ClocksBefore() (SchedStat, bool) {
	return attachment.before, attachment.beforeOK
}

// Ended reports whether the thread ended before it stopped: Finish then returns [ErrGone].
func (attachment *Attachment) Ended() bool { return attachment.state == attachmentGone }

// SetSleeping sets the call in which the thread slept before Begin, and its run count from before call was read. Some
// restarts on arm64 need them, as the result overwrites the first argument. Precondition: before Finish.
func (attachment *Attachment) SetSleeping(call *SyscallInfo, runs uint64) {
	attachment.sleeping, attachment.call, attachment.runs = true, *call, runs
}

// MarkQueued records that the thread is queued for the tracer's CPU: waits do not spin for it.
func (attachment *Attachment) MarkQueued() { attachment.queued = true }

type attachmentTable struct {
	list    []Attachment
	used    int
	live    int
	rescuer *rescuer
}

func (t *attachmentTable) inUse() []Attachment { return t.list[:t.used] }

func (t *attachmentTable) find(tid int) *Attachment {
	for i := range t.inUse() {
		if attachment := &t.list[i]; attachment.tid == tid && attachment.state != attachmentFree {
			return attachment
		}
	}
	return nil
}

func (t *attachmentTable) freeSlot() *Attachment {
	for i := range t.list {
		if attachment := &t.list[i]; attachment.state == attachmentFree {
			t.used = max(t.used, i+1)
			attachment.index = i
			return attachment
		}
	}
	return nil
}

func (t *attachmentTable) occupy(attachment *Attachment, tid int) {
	*attachment = Attachment{tid: tid, index: attachment.index, state: attachmentPending}
	t.rescuer.tids[attachment.index].Store(int32(tid))
	t.live++
}

func (t *attachmentTable) free(attachment *Attachment) {
	t.rescuer.tids[attachment.index].Store(0)
	*attachment = Attachment{}
	t.live--
	for t.used > 0 && t.list[t.used-1].state == attachmentFree {
		t.used--
	}
}

// anyStopsSoon reports whether any pending thread is not queued ([Attachment.MarkQueued]).
func (t *attachmentTable) anyStopsSoon() bool {
	for i := range t.inUse() {
		if attachment := &t.list[i]; attachment.state == attachmentPending && !attachment.queued {
			return true
		}
	}
	return false
}
