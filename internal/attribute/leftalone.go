// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// LeftAlone books the time up to a moment at which the thread was left alone. It was in the call that its last look
// has seen (inCall), or nobody knows where it was. The clocks may lack some milliseconds, which the next look has.
func (c *Clock) LeftAlone(r sample.Reading, inCall bool, emit func(Span)) {
	if !c.started || r.Wall <= c.last.Wall {
		return
	}
	from := c.last.Wall
	cpu, runq, blocked := c.advance(r)
	runq -= c.bookQueued(from, runq, emit)
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
	c.bookCarried(r.Wall, emit)
}
