// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// requestStop begins a stop. retry: the last one copied nothing. All that takes time precedes the interrupt: files and
// buffers, the pages to copy, and the clocks last of all, so that a new arrival on a CPU shows that the thread ran.
// What only records the stop follows it.
func (o *Observer) requestStop(t *Thread, s *RawSample, retry bool) error {
	switch {
	case o.mode == ModePassiveOnly:
		return refusal.Running
	case !o.stopLimit.tryAdmitStop(t):
		return refusal.MaxPause
	}
	waits := t.skid.DecideAtOnce() && o.checkAwaitsTracer(t) // by t.lastClocks, before interrupt changes them
	o.prepareBuffers(t, s)                                   // sets s.outline and reserves what the stop copies to
	t.prepareFindAnchor()
	call, runs, asleep := o.sleepingCall(t)
	// Which pages are present holds only for a moment: near the interrupt.
	if hints := t.hints.get(); hints.Plan != nil && t.Memory != nil {
		t.lastPlan.CheckPresent(t.Memory, hints.Plan, hints.Anchor)
	}
	o.schedstats.keepOpen(t.files) // interrupt and the stop read it
	tracee, err := o.interrupt(t, retry)
	if err != nil {
		return err
	}
	// From here on the thread may stop at any time; Collect finishes the stop, and uses what follows.
	if asleep {
		tracee.SetSleeping(&call, runs)
	}
	if before, ok := tracee.ClocksBefore(); ok {
		// the thread has got a CPU since checkAwaitsTracer
		if waits && before.Runs != t.lastClocks.Runs {
			t.skid.NoteRunOn()
			waits = false
		}
		t.lastClocks = before
	}
	t.pending = s
	t.stopping = tracee
	t.begun = procmem.Now()
	tracee.Tag = o.pending.add(t)
	t.awaitsTracer = waits
	if waits {
		tracee.MarkQueued()
	}
	return nil
}

// interrupt asks a thread to stop. Just before, unless the thread only computes, it reads the clocks.
func (o *Observer) interrupt(t *Thread, retry bool) (*ptrace.Tracee, error) {
	if retry || t.skid.DecideAtOnce() {
		return o.ctl.BeginReadingClocks(t.files)
	}
	return o.ctl.BeginWithClocks(t.files, &t.lastClocks)
}

// sleepingCall returns the system call of a thread that sleeps in it, and its run count, if both were read during one
// sleep; else false. Only the repair of interrupted calls on arm64 needs them ([ptrace.Tracee.SetSleeping]).
func (o *Observer) sleepingCall(t *Thread) (call procmem.SyscallInfo, runs uint64, ok bool) {
	if o.mode != ModeAlwaysStop || o.arch != frames.AArch64 {
		return call, 0, false
	}
	runs = t.lastClocks.Runs
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

func (o *Observer) finish(t *Thread, tracee *ptrace.Tracee) (*RawSample, error) {
	s := t.pending
	t.pending = nil
	o.fillRequest(t, s, &o.req)
	o.req.MaxStop = o.stopLimit.limit
	o.beginReads(t, true) // on false, reads in the stop return nothing
	err := o.ctl.Finish(tracee, &o.req, &o.stop)
	if err == nil && !o.endReads(t) {
		return s, o.noteLostStop(t)
	}
	if t.Memory != nil {
		t.Memory.CountWatchedStop()
	}
	if err == nil && !o.stop.SchedOK {
		err = ptrace.ErrGone // killed, or the number was reused
	}
	if err != nil {
		t.base.valid = false
		return s, err
	}
	o.fillFromStop(t, s)
	return s, nil
}

func (o *Observer) fillFromStop(t *Thread, s *RawSample) {
	stop := &o.stop
	s.Regs = stop.Regs
	s.Sched = stop.Sched
	s.At = stop.Stop
	s.How = ByStop
	s.State = sample.Running // a passive read may have set others
	s.Call = procmem.SyscallInfo{Nr: -1}
	s.CallEffect = callEffectOf(stop)
	s.CopyTime = stop.MemoryRead - stop.RegsRead
	s.Calls = stop.Calls
	s.recalled, s.stopRefused = false, false
	o.keepCopy(t, s, &o.req, stop)
	t.stackPointer = stop.Regs.SP()
	t.tls, t.tlsSpace = stop.Regs.TLS, t.addressSpace()
	t.queuedSince = 0
	o.setTimes(t, s)
	t.base = baselineOf(stop)
	if stop.Kind == ptrace.KindGroup {
		s.State = sample.Stopped
	}
	t.restoreSleeper(s, stop)
	if s.State != sample.Sleeping {
		s.KernelText = s.KernelText[:0]
	}
	s.dropStaleFutexCopy(t, stop)
	s.NotStopped = t.TakeNotStopped()
	t.noteStopInCall(s.Mem.Stack, stop)
}

func callEffectOf(stop *ptrace.Stop) CallEffect {
	return CallEffect{stop.Restarted, stop.Broken, stop.ReportedTwice, stop.Nr}
}

func (o *Observer) setTimes(t *Thread, s *RawSample) {
	stop := &o.stop
	s.StopTime, s.RanOn = t.stopTimes(stop)
	if s.StopTime > LongStop {
		s.StopCause = o.ctl.CauseOf(stop, s.Copied())
		t.watchLock(s.StopCause)
	}
	s.OnCPU, s.Basis = t.skid.AttributeStop(s.At, stop.Sched.Runs == t.lastClocks.Runs, stop.InSyscall)
	o.stopLimit.noteStop(t, s.StopTime)
}

// Longest time of a running thread from the interrupt to its stop, in ns.
const maxStopEntry = 20e3

// stopTimes returns an upper bound of the stop's length, and how long the thread ran before it, in ns. The way into the
// stop beyond maxStopEntry is no part of it: without a new arrival on a CPU the thread was in the kernel, or the
// hypervisor had its CPU; with one it was queued or blocked.
func (t *Thread) stopTimes(stop *ptrace.Stop) (stopped, late int64) {
	if stop.SchedOK && stop.Sched.Runs == t.lastClocks.Runs {
		from := max(stop.Interrupt, stop.LastRunning-maxStopEntry)
		return stop.Detach - from, from - stop.Interrupt
	}
	return stop.Detach - stop.LastRunning, 0
}
