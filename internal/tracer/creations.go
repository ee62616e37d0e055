// SPDX-License-Identifier: Apache-2.0

package tracer

import "prywalk/internal/procmem"

// taskCreations counts the ticks at which a task had been created on this machine since the tick before.
type taskCreations struct {
	file  *procmem.PIDCounter // nil if unknown: then each tick counts
	count int64
	tick  int64
}

func openTaskCreations() *taskCreations {
	file, _ := procmem.OpenPIDCounter() // on error each tick counts
	return &taskCreations{file: file}
}

// countUntil returns the count up to a tick. It reads the file once per tick.
func (c *taskCreations) countUntil(tick int64) int64 {
	if tick != c.tick {
		c.tick = tick
		if c.file == nil || c.file.Advanced() {
			c.count++
		}
	}
	return c.count
}

// forget makes the next countUntil read the file again, in the same tick, too.
func (c *taskCreations) forget() { c.tick = -1 }

// last returns the newest task ID as of a tick, 0 if unknown.
func (c *taskCreations) last(tick int64) int {
	c.countUntil(tick)
	if c.file == nil {
		return 0
	}
	return c.file.Last()
}

func (c *taskCreations) close() {
	if c.file != nil {
		c.file.Close()
	}
}
