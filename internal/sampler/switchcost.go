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
	timedSleeps = 100
	sleepTime   = 50 * time.Microsecond
	// maxSwitchCost is in ns. The cost is measured if switches may have minSwitchShare of the targets' CPU time.
	maxSwitchCost  = 50_000
	minSwitchShare = 0.02
)

// setSwitchCost sets the cost of a context switch, 0 unless samples miss many ends of runs: a sampling timer that is
// due while interrupts are off fires after the switch. The CPU time of a timed sleep is an upper bound.
func setSwitchCost(cpu *runstats.CPU) {
	cpu.SwitchCost = maxSwitchCost
	if cpu.Unsampled() < minSwitchShare {
		cpu.SwitchCost = 0
		return
	}
	cpu.SwitchCost = runstats.Nanos(measureSwitchCost())
}

func measureSwitchCost() time.Duration {
	costs := make([]time.Duration, timedSleeps)
	nap := unix.NsecToTimespec(int64(sleepTime))
	for i := range costs {
		costs[i] = selfruntime.CPUTimeOf(func() { _ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &nap, nil) })
	}
	slices.Sort(costs)
	return costs[timedSleeps/2]
}
