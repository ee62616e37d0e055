// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

func TestThreadsOfTheTracersCPUAreStoppedFromAnother(t *testing.T) {
	pid, _ := testtargets.Threads(t, "burners", "1")
	var allowed, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil || allowed.Count() < 2 {
		t.Skip("needs two CPUs: a machine with more")
	}
	if _, known := procmem.OpenThread(pid, pid, procmem.NewFDBudget(0)).OnCPU(); !known {
		t.Skip("needs /proc/PID/sched: Linux 6.15, or CONFIG_SCHED_DEBUG")
	}
	onTicksOver(t, target.SamplingOptions{Freq: 99}, pid, func(tick func(), c *Tracer) {
		c.stops.cpus = newCPUChooser(func() {})
		c.observations.stopOnlyOnOtherCPUs()
		one.Set(procmem.CPU())
		for _, th := range c.tracked.procs[0].Threads.All() {
			if err := unix.SchedSetaffinity(th.Observed.ID.TID, &one); err != nil {
				t.Error(err)
				return
			}
		}
		for range 1000 {
			if err := unix.SchedSetaffinity(0, &one); err != nil { // in the way of the target
				t.Error(err)
				return
			}
			if tick(); c.counts.byStop > 0 {
				return
			}
		}
		t.Errorf("no stop in 1000 ticks; %d were left to a later tick", c.counts.leftToLaterTick)
	})
}

func TestTheLastTickIsLongerWhereThreadsAreLeft(t *testing.T) {
	o := observations{}
	if got := o.lastTickFor(); got != 100e6 {
		t.Errorf("%d ns", got)
	}
	o.triesTwice = true
	if got := o.lastTickFor(); got != 500e6 {
		t.Errorf("%d ns where threads are left", got)
	}
}
