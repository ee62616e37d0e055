// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/ownruntime"
	"prywalk/internal/runstats"
)

const (
	// switches are how many sleeps are measured, of napTime each: some 15 ms together.
	switches = 100
	napTime  = 50 * time.Microsecond
	// mostSwitch is more than a switch costs anywhere, in nanoseconds, and leastShare the share of the CPU time that
	// switches must come to so that they are measured.
	mostSwitch = 50_000
	leastShare = 0.02
)

// measureSwitch fills in what a switch costs, where the runs of the targets are so short that it may be of weight.
//
// What a run on a processor begins and ends with, samples do not see: on a virtual machine the timer of a sleep is set
// with interrupts off, and a sampling timer that is due then fires after the switch, in the idle loop. That is at
// most what a thread of this process uses from before a timed sleep until it runs again.
func measureSwitch(s *runstats.CPU) {
	if s.SwitchCost = mostSwitch; s.Unsampled() < leastShare {
		s.SwitchCost = 0
		return
	}
	s.SwitchCost = runstats.Nanos(switchCost())
}

// switchCost gives the median CPU time of a sleep.
func switchCost() time.Duration {
	costs := make([]time.Duration, switches)
	nap := unix.NsecToTimespec(int64(napTime))
	for i := range costs {
		costs[i] = ownruntime.CPUOf(func() { _ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &nap, nil) })
	}
	slices.Sort(costs)
	return costs[switches/2]
}
