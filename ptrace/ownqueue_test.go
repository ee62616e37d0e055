// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
)

// A real-time thread has the CPU of the tracer, at ordinary priority, when the target stops, and for some time after.
func TestStopThatEndsASleepIncludesTheTimeUntilTheTracerGetsItsCPU(t *testing.T) {
	p := start(t, "spin")
	found := false
	options := Options{NoGC: true, SleepUntilStop: true, KeepPriority: true}
	withAlarmOf(t, options, func(c *Controller) {
		var here, others unix.CPUSet
		if unix.SchedGetaffinity(0, &others) != nil || others.Count() < 2 {
			t.Skip("needs two CPUs: a machine with more")
		}
		if bindHere(0) != nil || unix.SchedGetaffinity(0, &here) != nil {
			t.Error("the tracer cannot be bound to one CPU")
			return
		}
		others.Clear(procmem.CPU())
		if err := unix.SchedSetaffinity(p.tid, &others); err != nil {
			t.Error(err)
			return
		}
		for round := 0; round < 10 && !found; round++ { // the machine may stand still as the tracer continues
			l := c.seizeOnly(t, p.tid)
			l.atInterrupt = c.Sleeper.counters.begin()
			var stoppedSince Moment
			var other sync.WaitGroup
			other.Go(func() { procmem.OnOSThread(func() { stoppedSince = stopWhileAsleep(c.tid, p, &here) }) })
			for c.WaitAny(soon()) != l {
			}
			var s Stop
			err := c.Finish(l, &Request{}, &s)
			cause := c.CauseOf(&s, 0)
			other.Wait()
			if stoppedSince == 0 {
				t.Skip("needs a real-time priority: sudo make test")
			}
			if err != nil {
				t.Error(err)
				return
			}
			found = s.Times.LastRunningAt <= stoppedSince && cause == CausePreempted
			t.Logf("last known not stopped %d µs after the stop, cause %v",
				s.Times.LastRunningAt.Sub(stoppedSince).Microseconds(), cause)
		}
		if !found {
			t.Error("the time in which another thread had the tracer's CPU is no part of the stop, or not its cause")
		}
	})
}

// stopWhileAsleep stops the target as soon as the tracer sleeps, keeps the tracer's CPU, and returns a moment at which
// the target had been stopped for some time; 0: no real-time priority. Precondition: the OS thread is the caller's.
func stopWhileAsleep(tracer int, p *target, here *unix.CPUSet) (stoppedSince Moment) {
	testtargets.Comes(func() bool { return state(tracer) == 'S' })
	a := realTime(1)
	if unix.SchedSetaffinity(0, here) != nil || unix.SchedSetAttr(0, &a, 0) != nil {
		unix.Tgkill(p.PID, p.tid, unix.SIGWINCH)
		return 0
	}
	unix.Tgkill(p.PID, p.tid, unix.SIGWINCH) // ignored, but stops a traced thread
	for end := Now().Add(5e9); state(p.tid) != 't' && Now() < end; {
	}
	for stoppedSince = Now().Add(2e6); Now() < stoppedSince.Add(2e6); {
	}
	return stoppedSince
}
