// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// NotStopped attributes the time up to r, in which the thread was not stopped. inCall reports that it was in the
// call of the last sample throughout.
func (c *Clock) NotStopped(r sample.Reading, inCall bool, emit func(Span)) {
	if !c.started || r.Wall <= c.last.Wall {
		return
	}
	from := c.last.Wall
	t := c.advance(r)
	t.runQueue -= c.attributeQueued(from, t.runQueue, emit)
	if c.isOpen {
		c.open.Wall += t.blocked
		c.open.End, c.openRan = r.Wall, true
	} else {
		c.carried.blocked += t.blocked
	}
	if inCall && !c.isOpen {
		emit(Span{Seen: c.lastRunning, End: r.Wall, Wall: t.ran(), RunQueue: t.runQueue, CPU: t.cpu})
		return
	}
	c.carried.cpu += t.cpu
	c.carried.runQueue += t.runQueue
	c.attributeCarried(r.Wall, emit)
}
