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
	// switches is the number of sleeps, napTime their length.
	switches = 100
	napTime  = 50 * time.Microsecond
	// maxSwitch bounds a switch's cost, ns. It is measured if switches may have minShare of the targets' CPU time.
	maxSwitch = 50_000
	minShare  = 0.02
)

// measureSwitch sets the cost of a context switch if the targets' runs are short: samples miss the ends of runs, as a
// sampling timer that is due while interrupts are off fires after the switch. The CPU time of a timed sleep is an upper
// bound.
func measureSwitch(cpu *runstats.CPU) {
	cpu.SwitchCost = maxSwitch
	if cpu.Unsampled() < minShare {
		cpu.SwitchCost = 0
		return
	}
	cpu.SwitchCost = runstats.Nanos(switchCost())
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
