// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

type threadClocks struct {
	first, last      sample.Reading
	activeSinceFirst int64 // CPU and run queue time, ns
	// blockedDebt is negative blocked time, ≤ 0, ns, of late charges. Later blocked time is reduced by it.
	blockedDebt int64
}

func (c *threadClocks) begin(r sample.Reading) { c.first, c.last = r, r }

// growth leaves out queue time before the first reading: it is charged at its end.
func (c *threadClocks) growth(now sample.Reading) (t times) {
	t.cpu = max(now.CPU-c.last.CPU, 0)
	t.runQueue = min(max(now.RunQueue-c.last.RunQueue, 0), max(now.Wall-c.first.Wall-c.activeSinceFirst-t.cpu, 0))
	return t
}

func (c *threadClocks) advance(now sample.Reading) times {
	t := c.growth(now)
	c.activeSinceFirst += t.cpuAndQueue()
	blocked := now.Wall - c.last.Wall - t.cpuAndQueue() + c.blockedDebt
	c.blockedDebt, t.blocked = min(blocked, 0), max(blocked, 0)
	c.last = now
	return t
}

func (c *threadClocks) advanceBy(wall int64, t times) {
	c.activeSinceFirst += t.cpuAndQueue()
	c.last.Wall += wall
	c.last.CPU += t.cpu
	c.last.RunQueue += t.runQueue
}

func (c *threadClocks) payDebt(blocked int64) int64 {
	paid := min(-c.blockedDebt, blocked)
	c.blockedDebt += paid
	return paid
}
