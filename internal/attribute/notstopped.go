// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// NotStopped attributes the time up to r, in which the thread was not stopped. inCall reports that it was in the call
// of the last sample all the time.
func (c *Clock) NotStopped(r sample.Reading, inCall bool, emit func(Span)) {
	if !c.started || r.Wall <= c.last.Wall {
		return
	}
	from := c.last.Wall
	cpu, runq, blocked := c.advance(r)
	runq -= c.attributeQueued(from, runq, emit)
	if c.isOpen {
		c.open.Wall += blocked
		c.open.End, c.openRan = r.Wall, true
	} else {
		c.carryBlocked += blocked
	}
	if inCall && !c.isOpen {
		emit(Span{Seen: c.lastRun, End: r.Wall, Wall: cpu + runq, RunQueue: runq, CPU: cpu})
		return
	}
	c.carryCPU += cpu
	c.carryRunq += runq
	c.attributeCarried(r.Wall, emit)
}
