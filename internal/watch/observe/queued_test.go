// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

func TestOnlyThreadsOnACPUAreStopped(t *testing.T) {
	var threads []*Thread
	for range 3 {
		th := spinning(t)
		var one unix.CPUSet
		one.Set(runtime.NumCPU() - 1)
		if err := unix.SchedSetaffinity(th.ID.TID, &one); err != nil {
			t.Skipf("needs the last CPU: a larger CPU affinity (%v)", err)
		}
		threads = append(threads, th)
	}
	if _, known := threads[0].files.OnCPU(); !known {
		t.Skip("needs /proc/PID/sched: Linux 6.15, or CONFIG_SCHED_DEBUG")
	}
	observing(NewPool(16), ModeAuto, func(o *Observer) {
		o.StopOnlyOnCPU(true)
		begin := func(th *Thread) Outcome {
			outcome, _, err := o.Begin(th)
			if err != nil {
				t.Error(err)
			}
			for outcome == Pending && o.Stops.Attached() > 0 {
				_, s, err := o.Stops.Next(ptrace.Now().Add(1e9))
				if err != nil {
					t.Error(err)
				}
				o.pool.Put(s)
			}
			return outcome
		}
		seen := map[Outcome]int{}
		for i := 0; (i < 300 || seen[Pending] == 0) && !t.Failed(); i++ {
			seen[begin(threads[i%3])]++
			procmem.SleepUntil(int64(ptrace.Now().Add(1e6)))
		}
		if all := seen[Pending] + seen[WaitsForCPU] + seen[Unchanged]; seen[WaitsForCPU] == 0 || all < 300 {
			t.Errorf("%d were stopped, %d left for later, %d as before", seen[Pending], seen[WaitsForCPU], seen[Unchanged])
		}
		threads[0].sleep.base.valid = false
		threads[0].stops.queuedSince = ptrace.Now().Add(-maxQueued)
		if begin(threads[0]) != Pending || threads[0].stops.queuedSince != 0 {
			t.Error("one that is always queued is not stopped")
		}
	})
}

func TestAThreadThatTheTracerPreemptsIsNotStopped(t *testing.T) {
	th := spinning(t)
	var one unix.CPUSet
	one.Set(runtime.NumCPU() - 1)
	if err := unix.SchedSetaffinity(th.ID.TID, &one); err != nil {
		t.Skipf("needs the last CPU: a larger CPU affinity (%v)", err)
	}
	if _, known := th.files.OnCPU(); !known {
		t.Skip("needs /proc/PID/sched: Linux 6.15, or CONFIG_SCHED_DEBUG")
	}
	observing(NewPool(1), ModeAuto, func(o *Observer) {
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			t.Error(err)
			return
		}
		o.StopOnlyOnCPU(false)
		for range 300 {
			o.preemption.Woken(ptrace.Now())
			if outcome, _, err := o.Begin(th); outcome != WaitsForCPU && outcome != Unchanged {
				t.Errorf("outcome %d (%v) of a thread on the tracer's CPU", outcome, err)
				o.Stops.Cancel(th)
				return
			}
			procmem.SleepUntil(int64(ptrace.Now().Add(1e6)))
		}
	})
}
