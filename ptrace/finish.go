// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"
	"time"

	"prywalk/frames"

	"golang.org/x/sys/unix"
)

// Request says what a stop reads. It can be reused.
type Request struct {
	// Stack receives bytes from a red zone below the stack pointer up (x86-64: 128 bytes, arm64: 16). If it is empty, none
	// is read.
	Stack []byte
	// Memory, if not nil, is the process's: reads end with the mapping and skip missing pages.
	Memory *Memory
	// Files, if not nil, are the thread's. An open schedstat is read in the stop, another just after.
	Files *ThreadFiles
	// MaxStop, if positive, bounds the stop ([StackCopy.OutOfTime]). Waits for kernel locks, and for a CPU, can
	// exceed it; reads take at most a tenth of it then.
	MaxStop time.Duration
	// OtherMemory, if not nil, reads more into Regions.
	OtherMemory OtherMemory
	Regions     []frames.Region
}

// Stop is the result of Finish.
type Stop struct {
	Regs      frames.Regs
	Copy      StackCopy
	Regions   int       // number set by OtherMemory
	Sched     SchedStat // valid if SchedOK
	SchedOK   bool
	Times     Times
	Calls     int // system calls of this process from RegsReadAt to MemoryReadAt
	Kind      StopKind
	Signal    int  // passed on at the detach; 0 means none
	InSyscall bool // in system call Nr; x86-64 only
	Nr        int64
	Repair    Repair
}

// Times are the times of one stop, on the clock of [Now].
//
//	InterruptedAt … LastRunningAt … StoppedAt  the thread is queued for a CPU, or leaves the kernel
//	StoppedAt … RegsReadAt                     registers and clocks are read
//	RegsReadAt … MemoryReadAt                  memory is read
//	MemoryReadAt … DetachedAt                  an interrupted system call is repaired
type Times struct {
	InterruptedAt Moment
	// LastRunningAt is when the thread was last known not to be stopped: the stop takes at most DetachedAt −
	// LastRunningAt, unless this process was stopped (SIGSTOP), frozen, or without a virtual CPU as a wait ended.
	LastRunningAt Moment

	StoppedAt, RegsReadAt, MemoryReadAt, DetachedAt Moment
}

type stopper struct {
	attachments  attachmentTable
	rescuer      *rescuer
	seized       bool // a seizure has succeeded, so no seccomp filter refuses it
	captured     capture
	repairs      repairer
	stats        Stats
	lastCounters threadCounters // from which CauseOf counts
}

// Finish reads what req asks for, detaches the thread, fills out, and ends the Attachment. It does not allocate.
// Precondition: WaitAny or Poll has reported the Attachment. Errors: [ErrNotStopped], which keeps the Attachment,
// [ErrGone], [Err32Bit].
func (c *Controller) Finish(attachment *Attachment, req *Request, out *Stop) error {
	switch attachment.state {
	case attachmentStopped:
	case attachmentGone:
		c.stopper.attachments.free(attachment)
		return ErrGone
	default:
		return ErrNotStopped
	}
	out.Regions = 0
	c.stopper.captured.begin(attachment.times.LastRunningAt, req)
	var read, detached syscall.Errno
	if req.OtherMemory == nil {
		read, detached = c.stopper.readAndDetach(attachment, req)
	} else {
		read = c.stopper.readWithOtherMemory(attachment, req, out)
		detached = c.stopper.detach(attachment)
	}
	err := c.stopper.captured.regs.checkUsable(read)
	if err == nil {
		c.stopper.stats.Finished++
		c.stopper.captured.decode(req, out)
		out.Times, out.Repair = attachment.times, attachment.repair
		out.Kind, out.Signal = attachment.kind, int(attachment.signal)
	}
	c.stopper.endAttachment(attachment, detached)
	return err
}

func (r *registers) checkUsable(e syscall.Errno) error {
	switch {
	case e != 0:
		return ErrGone
	case !r.complete() || not64Bit(&r.raw):
		return Err32Bit
	}
	return nil
}

//go:nosplit
func (s *stopper) readAndDetach(attachment *Attachment, req *Request) (read, detached syscall.Errno) {
	got := &s.captured // inlined methods: nosplit stack is short on arm64
	read = got.readState(attachment, req)
	if read == 0 && got.regs.complete() {
		got.stack.read(attachment.tid, req, rawSP(&got.regs.raw))
	}
	got.recordCopied(attachment)
	return read, s.detach(attachment)
}

func (s *stopper) readWithOtherMemory(attachment *Attachment, req *Request, out *Stop) syscall.Errno {
	e := s.captured.readState(attachment, req)
	if e == 0 && s.captured.regs.complete() {
		ok := false
		defer func() {
			if !ok {
				s.detachAndFree(attachment)
			}
		}()
		out.Regions = s.captured.readOtherMemory(attachment, req, out)
		ok = true
	}
	s.captured.recordCopied(attachment)
	return e
}

// detach repairs the system call and detaches. ESRCH means that the thread was killed.
//
//go:nosplit
func (s *stopper) detach(attachment *Attachment) syscall.Errno {
	if s.captured.regs.complete() {
		s.repairs.repair(attachment)
	}
	e := ptrace(unix.PTRACE_DETACH, attachment.tid, 0, uintptr(attachment.signal))
	attachment.times.DetachedAt = Now()
	return e
}

//go:nosplit
func (s *stopper) release(attachment *Attachment) syscall.Errno {
	_ = s.captured.regs.read(attachment.tid)
	return s.detach(attachment)
}

func (s *stopper) detachAndFree(attachment *Attachment) {
	s.endAttachment(attachment, s.release(attachment))
}

// endAttachment keeps that of a killed thread until its end is reported.
func (s *stopper) endAttachment(attachment *Attachment, detached syscall.Errno) {
	s.stats.count(attachment)
	s.lastCounters = *attachment.countersAtBegin()
	if detached == 0 {
		s.attachments.free(attachment)
		return
	}
	attachment.state, attachment.cancelled = attachmentPending, true
}
