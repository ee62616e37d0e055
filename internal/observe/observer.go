// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// LongStop is the length of a stop, in ns, above which its cause is recorded ([RawSample.StopCause]).
const LongStop = 1 << 18

// Outcome is the result of [Observer.Begin].
type Outcome uint8

// The outcomes. Only Done has a raw sample, and only Failed an error.
const (
	Failed        Outcome = iota // no observation; [Reason] classifies the error
	Pending                      // [Observer.Collect] finishes it
	Unchanged                    // not run since its last observation
	Done                         // the raw sample is complete
	LeftToSamples                // running, and sampled by the kernel
	Queued                       // left until it has a CPU
)

// Observer observes threads. Precondition of all methods: they run on the controller's OS thread.
type Observer struct {
	ctl            *ptrace.Controller
	pool           *Pool
	mode           Mode
	stopsOnlyOnCPU bool
	stopLimit      stopLimit
	schedstats     schedstatCache
	unproven       unprovenSites
	kernel         kernelStacks
	pending        pendingStops
	req            ptrace.Request
	stop           ptrace.Stop
	copier
	mmapLock
	preemption
}

// New returns an observer that takes raw samples from pool.
func New(ctl *ptrace.Controller, pool *Pool, mode Mode) *Observer {
	o := &Observer{ctl: ctl, pool: pool, mode: mode, copier: copier{arch: hostArch()}, preemption: preemption{ctl: ctl}}
	o.mmapLock = mmapLock{ctl: ctl, stopLimit: &o.stopLimit}
	return o
}

// Begin observes a thread, or begins a stop:
//
//	the thread                                               outcome
//	has not run since its last observation                   Unchanged
//	sleeps, and was read                                     Done
//	is in a group stop, and --max-pause permits no stop      Done
//	sleeps, but a register is missing; is in a group stop    Pending
//	runs, and is sampled by the kernel                       LeftToSamples
//	runs in a call that gives up at each stop                Failed: refusal.InCall
//	is queued, and only threads on a CPU are to be stopped   Queued
//	runs                                                     Pending
//	could not be read, or may not be stopped                 Failed
//
// A pending thread keeps the raw sample. After LeftToSamples and Failed the next observation has no baseline.
func (o *Observer) Begin(t *Thread) (Outcome, *RawSample, error) {
	sched, err := o.readClocks(t)
	if err != nil {
		return Failed, nil, err
	}
	t.kept.asleepIn.Nr = -1
	t.skid.BeginSample(o.wake().At, sched.Runs)
	mustReread := o.takeHints(t) || o.mode >= ModeAlwaysRead
	if !mustReread && t.checkUnchanged(sched) {
		return Unchanged, nil, nil
	}
	s := o.pool.Get()
	asleep, err := o.readAsleep(t, s, sched)
	switch {
	case err != nil:
		return o.endWithout(t, s, Failed, err)
	case asleep && !o.classifySleeper(t, s):
		t.base = baseline{runs: s.Sched.Runs, state: s.State, valid: true}
		s.NotStopped = t.TakeNotStopped()
		return Done, s, nil
	case asleep: // is stopped
	case t.UsesSamples():
		return o.endWithout(t, s, LeftToSamples, nil)
	case o.mode != ModeAlwaysStop && t.trySuppressStop():
		return o.endWithout(t, s, Failed, refusal.InCall)
	case o.deferUntilOnCPU(t):
		return o.endWithout(t, s, Queued, nil)
	}
	if err := o.requestStop(t, s, false); err != nil {
		t.notStopped.Refused = t.notStopped.Refused || !asleep
		return o.endWithout(t, s, Failed, err)
	}
	return Pending, nil, nil
}

// endWithout ends an observation without a raw sample. Only a queued thread keeps its baseline.
func (o *Observer) endWithout(t *Thread, s *RawSample, outcome Outcome, err error) (Outcome, *RawSample, error) {
	t.base.valid = t.base.valid && outcome == Queued
	o.pool.Put(s)
	return outcome, nil, err
}

// readAsleep reports whether the thread sleeps, and was read.
func (o *Observer) readAsleep(t *Thread, s *RawSample, sched procmem.SchedStat) (asleep bool, err error) {
	if !o.beginReads(t, false) {
		return false, refusal.MapLock
	}
	if o.mode != ModeAlwaysStop {
		if asleep, err = o.readPassively(t, s, sched); err != nil {
			return false, err
		}
	}
	if !asleep && o.waitForMappings(t, s) {
		if asleep, err = o.readAgain(t, s); err != nil {
			return false, err
		}
	}
	if !o.endReads(t) {
		return false, refusal.MapLock
	}
	if asleep {
		t.gaveUpCall.noteLeftCall()
	}
	return asleep, nil
}

// readClocks reads the thread's clocks, and keeps them as its last ones.
func (o *Observer) readClocks(t *Thread) (sched procmem.SchedStat, err error) {
	sched, err = t.files.SchedStat()
	if err == nil && (sched.Runs < t.lastClocks.Runs || sched.CPU < t.lastClocks.CPU) {
		err = ptrace.ErrGone // the number was reused
	}
	if err == nil {
		if t.lastClocks == (procmem.SchedStat{}) {
			t.firstClocks = sched
		}
		t.lastClocks = sched
	}
	return sched, err
}

// checkUnchanged reports whether the last observation holds, and is not repeated for an incomplete stack.
func (t *Thread) checkUnchanged(sched procmem.SchedStat) bool {
	switch {
	case !t.base.isUnchanged(sched) && !t.base.acceptReturnToStop(sched, t.files):
		t.retryBackoff = retryBackoff{}
	case !t.retryBackoff.countUnchanged(t.hints.get().Incomplete):
		t.ranBetween = false
		return true
	}
	return false
}

// classifySleeper sets a passively read thread's state, and reports whether to stop it: for a missing register, or if
// it is in a group stop, maybe in user code, where any register may be needed. If the limit of stops does not allow
// that, the passive read stays.
func (o *Observer) classifySleeper(t *Thread, s *RawSample) (mustStop bool) {
	s.OnCPU, s.Basis = false, sample.Exact
	var st procmem.Stat
	if t.files.Stat(&st) != nil {
		s.State = sample.Sleeping
		return false
	}
	s.State = sample.StateOf(st.State)
	if s.State == sample.Running { // just woken, and has not run yet
		s.State = sample.Sleeping
	}
	// Without a baseline the thread is new and has no interval: OnCPU does not matter.
	if t.sampleStack == 0 && t.base.valid {
		s.OnCPU = o.wasOnCPU(t, s, st.Processor)
	}
	switch st.State {
	case 'T':
		s.stopRefused = !o.stopLimit.tryAdmitStop(t)
		return !s.stopRefused
	case 'S':
		return o.prepareStopForRegister(t, s)
	}
	return false
}

// wasOnCPU reports whether a sleeper was on a CPU, its last one, until the tracer woke and preempted it.
func (o *Observer) wasOnCPU(t *Thread, s *RawSample, cpu int) bool {
	wake, now := o.wake(), procmem.Now()
	if !t.skid.ShowsPlaceAsleep(wake, now) {
		return false
	}
	_, preempted := t.skid.Preempted()
	preempted = preempted && s.Sched.Runs == t.lastClocks.Runs ||
		cpu == o.detector.CPU(wake.At) && o.detector.Preempted(t.files, wake.At)
	if preempted {
		t.skid.NoteExactSample(now)
	}
	return preempted
}

// Close closes the observer's files.
func (o *Observer) Close() {
	o.detector.Close()
	o.schedstats.close()
	o.closeThreads()
}
