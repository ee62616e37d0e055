// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

// requestedStops are the stops that [Observer.Begin] has requested.
type requestedStops struct {
	ctl      *ptrace.Controller
	pending  map[*ptrace.Attachment]*Thread
	unmarked bool // one was requested since markQueued
	req      ptrace.Request
	stop     ptrace.Stop

	// The observer's:
	pool       *Pool
	mode       Mode
	limit      *stopLimit
	copier     *copier
	reads      *lockedReads
	preemption *Preemption
}

// request begins a stop; all that takes time precedes the interrupt. retry means that the last stop copied nothing.
func (st *requestedStops) request(t *Thread, s *RawSample, retry bool) error {
	switch {
	case st.mode == ModePassiveOnly:
		return errs.Running
	case t.stops.code32.tryOmit(t.addressSpace()):
		return errs.Not64Bit
	case !st.limit.tryAdmitStop(t):
		return errs.MaxPause
	}
	// recordRequest replaces the clocks used here.
	awaitsTracerCPU := t.skid.decideAtOnce() && st.preemption.decide(t)
	st.prepare(t, s)
	attachment, err := st.interrupt(t, retry)
	if err != nil {
		t.files.CloseKeptSchedstat()
		return err
	}
	st.recordRequest(t, s, attachment, awaitsTracerCPU)
	return nil
}

func (st *requestedStops) prepare(t *Thread, s *RawSample) {
	st.copier.prepareBuffers(t, s)
	t.prepareFindAnchor()
	t.files.KeepSchedstatOpen() // until the end of the stop, as interrupt and the stop read it
}

// interrupt reads the clocks just before, unless the thread only computes: a new arrival then shows that it ran.
func (st *requestedStops) interrupt(t *Thread, retry bool) (attachment *ptrace.Attachment, err error) {
	call, runs, asleep := st.sleepingCall(t)
	if retry || t.skid.decideAtOnce() {
		attachment, err = st.ctl.BeginReadingClocks(t.files)
	} else {
		attachment, err = st.ctl.BeginWithClocks(t.files, &t.clocks)
	}
	if err == nil && asleep {
		attachment.SetSleeping(&call, runs)
	}
	return attachment, err
}

func (st *requestedStops) recordRequest(t *Thread, s *RawSample, attachment *ptrace.Attachment, awaitsTracerCPU bool) {
	if before, ok := attachment.ClocksBefore(); ok {
		if awaitsTracerCPU && before.Runs != t.clocks.Runs { // the thread has got a CPU since
			t.skid.markRunning()
			awaitsTracerCPU = false
		}
		t.clocks = before
	}
	stops := &t.stops
	stops.sample, stops.attachment, stops.requestedAt, stops.awaitsTracer = s, attachment, ptrace.Now(), awaitsTracerCPU
	st.pending[attachment], st.unmarked = t, true
	if awaitsTracerCPU {
		attachment.MarkQueued()
	}
}

// sleepingCall returns a call and run count read during one sleep, for repairs on arm64
// ([ptrace.Attachment.SetSleeping]).
func (st *requestedStops) sleepingCall(t *Thread) (call procmem.SyscallInfo, runs uint64, ok bool) {
	if st.mode != ModeAlwaysStop || process.HostArch() != frames.ARM64 {
		return call, 0, false
	}
	runs = t.clocks.Runs
	for range passiveTries {
		call, err := t.files.Syscall()
		if err != nil || call.Running || call.Nr < 0 {
			return call, 0, false
		}
		after, err := t.files.SchedStat()
		if err != nil || after.Runs == runs {
			return call, runs, err == nil
		}
		runs = after.Runs
	}
	return call, 0, false
}

// finish reads a thread that has stopped or ended, and lets it go. The raw sample is valid without an error.
func (st *requestedStops) finish(t *Thread, attachment *ptrace.Attachment) (*RawSample, error) {
	s := t.stops.sample
	t.stops.sample = nil
	st.copier.fillRequest(t, s, &st.req)
	st.req.MaxStop = st.limit.limit
	st.reads.begin(t, true) // on false, the stop reads nothing
	err := st.ctl.Finish(attachment, &st.req, &st.stop)
	t.files.CloseKeptSchedstat()
	if err == nil && !st.reads.end(t) {
		return s, st.discardStopWithLateRead(t)
	}
	if t.Memory != nil {
		t.Memory.CountWatchedStop()
	}
	if err == nil && !st.stop.SchedOK {
		err = ptrace.ErrGone // killed, or the number was reused
	}
	if err != nil {
		if errors.Is(err, ptrace.Err32Bit) {
			t.stops.code32.omitMore(t.addressSpace())
		}
		t.sleep.base.valid = false
		return s, err
	}
	t.stops.code32 = code32{}
	st.fillSample(t, s)
	return s, nil
}

func (st *requestedStops) fillSample(t *Thread, s *RawSample) {
	stop := &st.stop
	// These are of the passive read, for restoreSleeper.
	sleptIn, forRegister := s.Call, s.registers.stoppedForRegister

	s.Regs = stop.Regs
	s.Sched = stop.Sched
	s.At = stop.Times.StoppedAt
	s.How = ByStop
	s.State = sample.Running
	s.Call = procmem.SyscallInfo{Nr: -1}
	s.Stop.Effect = CallEffect{stop.Repair, stop.Nr}
	s.Cost.CopyTime = stop.Times.MemoryReadAt.Sub(stop.Times.RegsReadAt)
	s.Cost.Calls = stop.Calls
	s.AtCallEnd = stop.InSyscall
	s.registers = knownRegs{}
	st.copier.keepCopy(t, s, stop)
	t.copies.tls, t.copies.tlsSpace = stop.Regs.TLS, t.addressSpace()
	t.stops.queuedSince = 0
	st.setTimes(t, s)
	t.sleep.base = baselineOf(stop)
	if stop.Kind == ptrace.KindGroup {
		s.State = sample.Stopped
	}
	if forRegister {
		t.sleep.restoreSleeper(s, &sleptIn, stop)
	}
	if s.State != sample.Sleeping {
		s.KernelStack.Text = s.KernelStack.Text[:0]
	}
	s.dropStaleFutexCopy(t, stop)
	s.NotStopped = t.TakeNotStopped()
	t.updateAbortedCall(s.Mem.Stack, stop)
}

func (st *requestedStops) setTimes(t *Thread, s *RawSample) {
	stop := &st.stop
	s.Stop.StopTime, s.RanOn = stopTimes(stop, t.clocks.Runs)
	if s.Stop.StopTime > LongStop {
		s.Stop.StopCause = st.ctl.CauseOf(stop, s.Copied())
		t.watchMmapLock(s.Stop.StopCause)
	}
	s.Stayed = stop.Sched.Runs == t.clocks.Runs
	s.OnCPU, s.Skids = t.skid.attributeStop(s.At, s.Stayed, stop.InSyscall)
	st.limit.learnStopTime(t, s.Stop.StopTime)
}

// maxStopEntry is the longest time from the interrupt to the stop of a running thread.
const maxStopEntry = 20 * time.Microsecond

// stopTimes returns an upper bound of the stop's length, and how long the thread ran on before it. runs is its
// count of arrivals on a CPU at the interrupt. If the count is the same at the stop, it was on a CPU all the time: what
// exceeds maxStopEntry it spent in the kernel, or its virtual CPU was taken away, and does not count as stopped.
// Otherwise it was queued or blocked.
func stopTimes(stop *ptrace.Stop, runs uint64) (stopped, ranOn time.Duration) {
	if stop.SchedOK && stop.Sched.Runs == runs {
		from := max(stop.Times.InterruptedAt, stop.Times.LastRunningAt.Add(-maxStopEntry))
		return stop.Times.DetachedAt.Sub(from), from.Sub(stop.Times.InterruptedAt)
	}
	return stop.Times.DetachedAt.Sub(stop.Times.LastRunningAt), 0
}

func (st *requestedStops) discardStopWithLateRead(t *Thread) error {
	length, _ := stopTimes(&st.stop, t.clocks.Runs)
	st.limit.learnStopTime(t, length)
	t.updateAbortedCall(frames.Region{}, &st.stop)
	t.recordLostStop(StopRecord{length, ptrace.CauseLock, CallEffect{st.stop.Repair, st.stop.Nr}})
	return errs.MapLock
}

func (st *requestedStops) mayStopSleepers() bool {
	return st.mode != ModePassiveOnly && !st.ctl.ReadOnly()
}
