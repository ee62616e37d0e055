// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// requestStop begins a stop. retry is set if the last stop has copied nothing.
func (l *Observer) requestStop(t *Thread, s *RawSample, retry bool) error {
	switch {
	case l.mode == ModePassiveOnly:
		return refusal.Running
	case !l.pause.allows(t):
		return refusal.MaxPause
	}
	waits := t.skid.MayWait() && l.judgeOne(t)
	l.makeRoom(t, s)
	call, runs, asleep := l.asleep(t)
	t.checkPlan()
	l.schedstats.keepOpen(t.files)
	tracee, err := l.interrupt(t, retry)
	if err != nil {
		return err
	}
	if asleep {
		tracee.Sleeping(&call, runs)
	}
	if before, ok := tracee.Before(); ok {
		if waits && before.Runs != t.before.Runs {
			t.skid.NoteRunOn()
			waits = false
		}
		t.before = before
	}
	t.pending, t.stopping = s, tracee
	t.begun = procmem.Now()
	tracee.Tag = l.pending.add(t)
	if t.queued = waits; waits {
		tracee.Queued()
	}
	return nil
}

// interrupt asks a thread to stop. Unless the thread only computes, its clocks are read just before, to know whether it
// is on a processor.
func (l *Observer) interrupt(t *Thread, retry bool) (*ptrace.Tracee, error) {
	if retry || t.skid.MayWait() {
		return l.ctl.BeginWith(t.TID, t.files)
	}
	return l.ctl.BeginSince(t.TID, &t.before)
}

// asleep gives the system call and run count of a sleeper, which a restart of the call on arm64 needs. ok is false
// elsewhere, and if the thread does not sleep.
func (l *Observer) asleep(t *Thread) (call procmem.SyscallInfo, runs uint64, ok bool) {
	if l.mode != ModeAlwaysStop || l.arch != frames.AArch64 {
		return call, 0, false
	}
	runs = t.before.Runs
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

// finish reads a stopped thread and detaches from it.
func (l *Observer) finish(t *Thread, tracee *ptrace.Tracee) (*RawSample, error) {
	s := t.pending
	t.pending = nil
	l.request(t, s, &l.req)
	l.req.Longest = l.pause.limit
	l.beginReads(t, true) // on false the reads in the stop give nothing
	err := l.ctl.Finish(tracee, &l.req, &l.stop)
	if err == nil && !l.endReads(t) {
		return s, l.noteLostStop(t)
	}
	if t.Memory != nil {
		t.Memory.Stopped()
	}
	if err == nil && !l.stop.SchedOK {
		err = ptrace.ErrGone // killed, or the number was reused
	}
	if err != nil {
		t.base.valid = false
		return s, err
	}
	l.fill(t, s)
	return s, nil
}

// fill sets the raw sample and the thread's state from l.stop.
func (l *Observer) fill(t *Thread, s *RawSample) {
	stop := &l.stop
	s.Regs, s.Sched, s.At, s.How = stop.Regs, stop.Sched, stop.Stop, ByStop
	s.State, s.Call, s.Kernel = sample.Running, procmem.SyscallInfo{Nr: -1}, s.Kernel[:0]
	s.CallEffect = CallEffect{stop.Restarted, stop.Broken, stop.ReportedTwice, stop.Nr}
	s.Copying, s.Calls = stop.Copied-stop.Taken, stop.Calls
	s.recalled, s.refused = false, false
	l.keep(t, s, &l.req, stop)
	t.stoppedAt, t.tls, t.queuedSince = stop.Regs.SP(), stop.Regs.TLS, 0
	l.time(t, s)
	t.base = baselineOf(stop)
	if stop.Kind == ptrace.KindGroup {
		s.State = sample.Stopped
	}
	if t.stillAsleep(s, stop); s.State != sample.Sleeping {
		s.KernelText = s.KernelText[:0]
	}
	s.keepNear(t, stop)
	s.NotStopped = t.TakeNotStopped()
	if t.gaveUpCall.leftCall(); stop.GaveUp {
		t.gaveUp(s, stop)
	}
}

// time sets the length of the stop, and whether the thread was on a processor.
func (l *Observer) time(t *Thread, s *RawSample) {
	stop := &l.stop
	if s.Stopped, s.Late = t.stopped(stop); s.Stopped > LongStop {
		s.Why = l.ctl.Why(stop, s.Copied())
		t.watchLock(s.Why)
	}
	s.OnCPU, s.Basis = t.skid.Stopped(s.At, stop.Sched.Runs == t.before.Runs, stop.InSyscall)
	l.pause.stopped(t, s.Stopped)
}

// wayIntoStop is the most that a running thread takes from the interrupt to its stop, in ns.
const wayIntoStop = 20e3

// stopped gives an upper bound of the length of the stop, and how long the thread ran before it, both in ns. A longer
// way into the stop than wayIntoStop is no part of the stop: without a new arrival the thread was in the kernel, or the
// hypervisor had its processor; with one it was queued or blocked.
func (t *Thread) stopped(stop *ptrace.Stop) (stopped, late int64) {
	if stop.SchedOK && stop.Sched.Runs == t.before.Runs {
		from := max(stop.Interrupt, stop.Running-wayIntoStop)
		return stop.Detach - from, from - stop.Interrupt
	}
	return stop.Detach - stop.Running, 0
}
