// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

// LongStop is the length of a stop, above which its cause is recorded ([StopRecord.StopCause]).
const LongStop = 262144 * time.Nanosecond

// Outcome is the result of [Observer.Begin].
type Outcome uint8

// The outcomes. Only Done has a raw sample, only Failed an error.
const (
	Failed    Outcome = iota // [Reason] classifies the error
	Pending                  // [Observer].Stops.Next finishes it
	Unchanged                // not run since its last observation
	Done
	LeftToEngine // running, and sampled by the kernel
	WaitsForCPU  // left until it has a CPU
)

// Observer observes threads. Precondition: its methods run on the controller's OS thread.
type Observer struct {
	Stops            requestedStops
	passive          passiveReader
	pool             *Pool
	mode             Mode
	limit            stopLimit
	copier           copier
	reads            lockedReads
	preemption       Preemption
	missingRegisters missingRegisterSites
	stopsOnlyOnCPU   bool
	stopsPreempted   bool // with stopsOnlyOnCPU
}

// New returns an observer that takes raw samples from pool.
func New(ctl *ptrace.Controller, pool *Pool, mode Mode) *Observer {
	o := &Observer{pool: pool, mode: mode, preemption: Preemption{ctl: ctl}}
	o.reads = lockedReads{ctl: ctl, limit: &o.limit}
	o.passive.copier = &o.copier
	o.Stops = requestedStops{
		ctl: ctl, pool: pool, mode: mode, pending: map[*ptrace.Attachment]*Thread{},
		limit: &o.limit, copier: &o.copier, reads: &o.reads, preemption: &o.preemption,
	}
	return o
}

// Begin observes a thread, or begins a stop:
//
//	the thread                                               outcome
//	has not run since its last observation                   Unchanged
//	sleeps, and was read                                     Done
//	is in a group stop, and --max-pause permits no stop      Done
//	is in a group stop, in ModePassiveOnly                   Failed: errs.Running
//	sleeps, but a register is missing; is in a group stop    Pending
//	runs, and never in user space                            Done
//	runs, and is sampled by the kernel                       LeftToEngine
//	runs in a call that each stop aborts                     Failed: errs.InCall
//	runs, in the time without stops after harm               Failed: errs.InCall
//	runs, and was often in 32-bit code                       Failed: errs.Not64Bit
//	is queued, and only threads on a CPU are to be stopped   WaitsForCPU ([Thread.StopThough], too)
//	runs                                                     Pending
//	could not be read, or may not be stopped;                Failed
//	too many stops are pending
//
// A pending thread keeps the raw sample. After LeftToEngine, and a failure other than of the clocks, the next
// observation has no baseline.
func (o *Observer) Begin(t *Thread) (Outcome, *RawSample, error) {
	sched, err := t.readClocks()
	if err != nil {
		return Failed, nil, err
	}
	o.beginSample(t)
	if o.tryConfirmUnchanged(t, sched) {
		return Unchanged, nil, nil
	}
	s := o.pool.Get()
	outcome, err := o.decide(t, s, sched)
	switch outcome {
	case Done:
		t.sleep.base = baseline{runs: s.Sched.Runs, state: s.State, valid: true}
		s.NotStopped = t.TakeNotStopped()
		return Done, s, nil
	case Pending:
		if err = o.Stops.request(t, s, false); err == nil {
			return Pending, nil, nil
		}
		outcome = Failed
		asleep := s.How == ByPassiveRead
		t.stops.notStopped.Refused = t.stops.notStopped.Refused || !asleep
	}
	t.sleep.base.valid = t.sleep.base.valid && outcome == WaitsForCPU
	o.pool.Put(s)
	return outcome, nil, err
}

func (t *Thread) readClocks() (sched procmem.SchedStat, err error) {
	sched, err = t.files.SchedStat()
	if err == nil && (sched.Runs < t.clocks.Runs || sched.CPU < t.clocks.CPU) {
		err = ptrace.ErrGone // another thread's: the number was reused, or an exec has given it to the caller
	}
	if err == nil {
		t.clocks = sched
	}
	return sched, err
}

// tryConfirmUnchanged reports whether the thread is unchanged, and not to be read again: for new hints
// ([Observer.takeHints]), in some modes, and sometimes while its stack is incomplete ([retryBackoff]).
func (o *Observer) tryConfirmUnchanged(t *Thread, sched procmem.SchedStat) bool {
	if o.takeHints(t) || o.mode == ModeAlwaysRead || o.mode == ModeAlwaysStop {
		return false
	}
	return t.sleep.confirmUnchanged(sched, t.files, t.hints.reads.Incomplete)
}

// takeHints makes the newest hints those of this observation. again means that an unchanged thread is to be read again
// for them.
func (o *Observer) takeHints(t *Thread) (again bool) {
	root := t.hints.stack.size.root
	t.takeHints()
	hints := t.hints
	if key := hints.reads.MissingRegisterSite; key != 0 {
		*o.missingRegisters.slot(key) = key
	}
	again = hints.reads.Retries != t.copies.seenRetries
	t.copies.seenRetries = hints.reads.Retries
	if kept := &t.sleep.kept; hints.stack.size.root != root && kept.awaitsRoot {
		kept.awaitsRoot = false
		again = true
	}
	return again
}

// decide returns Pending if the thread is to be stopped now.
func (o *Observer) decide(t *Thread, s *RawSample, sched procmem.SchedStat) (Outcome, error) {
	asleep, err := o.readAsleep(t, s, sched)
	switch {
	case err != nil:
		return Failed, err
	case asleep:
		if o.mustStopSleeper(t, s, o.setSleeperState(t, s)) {
			return Pending, nil
		}
		return Done, nil
	case t.NoUserSpace && !t.IsKernelSampled() && o.mode != ModeAlwaysStop:
		s.setRunningInKernel(sched)
		return Done, nil
	case t.IsKernelSampled() && !(t.stopThoughSampled && o.limit.tryAdmitStop(t)):
		return LeftToEngine, nil
	case t.IsKernelSampled() && o.stopsOnlyOnCPU && o.waitsForCPU(t):
		return WaitsForCPU, nil
	case o.mode != ModeAlwaysStop && t.trySuppressStop():
		return Failed, errs.InCall
	case o.deferUntilOnCPU(t):
		return WaitsForCPU, nil
	}
	return Pending, nil
}

// readAsleep reads the thread if it sleeps.
func (o *Observer) readAsleep(t *Thread, s *RawSample, sched procmem.SchedStat) (asleep bool, err error) {
	if !o.reads.begin(t, false) {
		return false, errs.MapLock
	}
	if o.mode != ModeAlwaysStop {
		if asleep, err = o.passive.read(t, s, sched); err != nil {
			return false, err
		}
	}
	if !asleep && o.awaitMmapLock(t) {
		if asleep, err = o.readAgain(t, s); err != nil {
			return false, err
		}
	}
	if !o.reads.end(t) {
		return false, errs.MapLock
	}
	if asleep {
		t.abortedCall.markLeft()
		s.registers.stopRefused = !o.Stops.mayStopSleepers()
	}
	return asleep, nil
}

func (o *Observer) setSleeperState(t *Thread, s *RawSample) (letter byte) {
	s.OnCPU, s.Skids = false, false
	var st procmem.Stat
	if t.files.Stat(&st) != nil {
		s.State = sample.Sleeping
		return 0
	}
	s.State = sample.StateOf(st.State)
	if s.State == sample.Running { // just woken, and has not run yet
		s.State = sample.Sleeping
	}
	return st.State
}

// mustStopSleeper reports whether to stop a sleeper for its registers: in a group stop any may be needed.
func (o *Observer) mustStopSleeper(t *Thread, s *RawSample, letter byte) bool {
	switch letter {
	case 'T':
		s.registers.stopRefused = !o.limit.tryAdmitStop(t)
		return !s.registers.stopRefused
	case 'S':
		return o.tryStopForRegister(t, s)
	}
	return false
}

// tryStopForRegister reports whether to stop a sleeper for a missing register. If one is missing and the stop is not
// allowed, it sets s.stopRefused.
func (o *Observer) tryStopForRegister(t *Thread, s *RawSample) bool {
	if key := siteKey(t.ID.TID, s); s.registers.recalled || *o.missingRegisters.slot(key) != key {
		return false
	}
	s.registers.stoppedForRegister = o.mayStopForRegister(t, s)
	s.registers.stopRefused = !s.registers.stoppedForRegister
	return s.registers.stoppedForRegister
}

func (o *Observer) mayStopForRegister(t *Thread, s *RawSample) bool {
	switch {
	case !o.Stops.mayStopSleepers(), t.abortedCall.wasHarmed():
		return false
	case t.sleep.kept.isSameSleep(&s.Call, s.Sched.Runs): // stopped in this sleep already
		return false
	case !Interruptible(t.ID, &s.Call, &s.Mem):
		return false
	}
	return o.limit.tryAdmitStop(t)
}

// Close closes the observer's files.
func (o *Observer) Close() {
	o.preemption.close()
	if o.reads.threads != nil {
		o.reads.threads.Close()
	}
}

// Reason classifies an error.
func Reason(err error) errs.Reason {
	if errors.Is(err, ptrace.ErrPending) {
		return errs.Busy
	}
	if r := errs.Of(err); r != errs.Self {
		return r
	}
	return errs.Other // the target is prywalk
}
