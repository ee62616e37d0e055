// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/runstats"
	"prywalk/internal/selfruntime"
)

const (
	switches = 100
	napTime  = 50 * time.Microsecond
	// mostSwitch bounds a switch's cost, ns; leastShare is the CPU share of all switches from which it is measured.
	mostSwitch = 50_000
	leastShare = 0.02
)

// measureSwitch sets the cost of a switch if the targets' runs are short.
//
// A sampling timer that is due with interrupts off fires after the switch, so samples miss the ends of runs. The
// CPU time from before a timed sleep until the thread runs again is an upper bound.
func measureSwitch(s *runstats.CPU) {
	if s.SwitchCost = mostSwitch; s.Unsampled() < leastShare {
		s.SwitchCost = 0
		return
	}
	s.SwitchCost = runstats.Nanos(switchCost())
}

func switchCost() time.Duration {
	costs := make([]time.Duration, switches)
	nap := unix.NsecToTimespec(int64(napTime))
	for i := range costs {
		costs[i] = selfruntime.CPUOf(func() { _ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &nap, nil) })
	}
	slices.Sort(costs)
	return costs[switches/2]
}
