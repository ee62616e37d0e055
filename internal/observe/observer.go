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
	Reused                       // unchanged since its last observation
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
	pause          pauseLimit
	schedstats     schedstatCache
	unproven       unprovenSites
	kernel         kernelStacks
	pending        pendingStops
	req            ptrace.Request
	stop           ptrace.Stop
	copier
	mapLock
	preemption
}

// New returns an observer that takes raw samples from pool.
func New(ctl *ptrace.Controller, pool *Pool, mode Mode) *Observer {
	o := &Observer{ctl: ctl, pool: pool, mode: mode, copier: copier{arch: hostArch()}, preemption: preemption{ctl: ctl}}
	o.mapLock = mapLock{ctl: ctl, pause: &o.pause}
	return o
}

// Begin observes a thread, or begins a stop.
func (o *Observer) Begin(t *Thread) (Outcome, *RawSample, error) {
	sched, err := o.clocks(t)
	if err != nil {
		return Failed, nil, err
	}
	t.kept.asleepIn.Nr = -1
	t.skid.BeginSample(o.wake().At, sched.Runs)
	mustReread := o.takeHints(t) || o.mode >= ModeNoReuse
	if !mustReread && t.tryReuse(sched) {
		return Reused, nil, nil
	}
	s := o.pool.Get()
	outcome, err := o.readOrStop(t, s, sched)
	switch outcome {
	case Done:
		return Done, s, nil
	case Pending: // the thread keeps s
		return Pending, nil, nil
	case Failed, LeftToSamples:
		t.base.valid = false
	}
	o.pool.Put(s)
	return outcome, nil, err
}

func (o *Observer) readOrStop(t *Thread, s *RawSample, sched procmem.SchedStat) (Outcome, error) {
	asleep, err := o.readAsleep(t, s, sched)
	switch {
	case err != nil:
		return Failed, err
	case asleep:
		t.gaveUpCall.leftCall()
		if !o.classifySleeper(t, s) {
			t.base = baseline{runs: s.Sched.Runs, state: s.State, valid: true}
			s.NotStopped = t.TakeNotStopped()
			return Done, nil
		}
	case t.UsesSamples():
		return LeftToSamples, nil
	case o.mode != ModeAlwaysStop && t.trySuppressStop():
		return Failed, refusal.InCall
	case o.deferUntilOnCPU(t):
		return Queued, nil
	}
	if err := o.requestStop(t, s, false); err != nil {
		t.notStopped.Refused = t.notStopped.Refused || !asleep
		return Failed, err
	}
	return Pending, nil
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
	return asleep, nil
}

func (o *Observer) clocks(t *Thread) (sched procmem.SchedStat, err error) {
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

// tryReuse reports whether the last observation holds, and is not repeated for an incomplete stack.
func (t *Thread) tryReuse(sched procmem.SchedStat) bool {
	switch {
	case !t.base.unchanged(sched) && !t.base.acceptReturnToStop(sched, t.files):
		t.retryBackoff = retryBackoff{}
	case !t.retryBackoff.countReuse(t.hints.get().Incomplete):
		t.ranBetween = false
		return true
	}
	return false
}

// classifySleeper sets a passively read thread's state, and reports whether to stop it: for a missing register, or if
// it is in a group stop.
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
	if t.sampleStack != 0 {
		return st.State == 'T' || st.State == 'S' && o.prepareStopForRegister(t, s)
	}
	// Without a baseline the thread is new and has no interval: OnCPU does not matter.
	_, found := t.skid.Preempted()
	found = found && s.Sched.Runs == t.lastClocks.Runs
	wake, now := o.wake(), procmem.Now()
	if t.base.valid && t.skid.ShowsPlaceAsleep(wake, now) && (found || st.Processor == o.detector.Processor(wake.At)) {
		s.OnCPU = found || o.detector.Preempted(t.files, wake.At)
		if s.OnCPU {
			t.skid.ExactAt(now)
		}
	}
	return st.State == 'T' || st.State == 'S' && o.prepareStopForRegister(t, s)
}

// Close closes the observer's files.
func (o *Observer) Close() {
	o.detector.Close()
	o.schedstats.close()
	o.closeRelays()
}
