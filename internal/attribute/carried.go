// SPDX-License-Identifier: Apache-2.0

package attribute

// carryLimit is how long carried time waits, ns. At 1 s and 99 ticks/s, a seventh of the time of a thread that is on
// CPU for 2 % of it would go to [RanBetweenTicks]; at 5 s almost none.
const carryLimit = 5e9

type carriedTimes struct {
	times
	since       int64 // of CPU and run queue time, CLOCK_MONOTONIC ns
	stopRefused bool  // since then ([sample.NotStopped])
}

func (c *carriedTimes) add(cpu, runQueue, now int64) {
	if c.cpuAndQueue() == 0 {
		c.since = now
	}
	c.cpu += cpu
	c.runQueue += runQueue
}

func (c *carriedTimes) isOverdue(now int64) bool {
	return c.cpuAndQueue() > 0 && now-c.since > carryLimit
}

// takeCPU also ends stopRefused.
func (c *carriedTimes) takeCPU() int64 {
	c.stopRefused = false
	return take(&c.cpu)
}

func take(ns *int64) (taken int64) {
	taken, *ns = *ns, 0
	return taken
}
