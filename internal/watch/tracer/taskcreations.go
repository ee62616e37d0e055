// SPDX-License-Identifier: Apache-2.0

package tracer

import "prywalk/internal/host/procmem"

// taskCreations counts the ticks before which a task was created on this machine.
type taskCreations struct {
	file  *procmem.PIDCounter // nil: each tick counts
	count int64
	tick  int64
}

func (c *taskCreations) countUntil(tick int64) int64 {
	if tick != c.tick {
		c.tick = tick
		if c.file == nil || c.file.Advanced() {
			c.count++
		}
	}
	return c.count
}

func (c *taskCreations) forget() { c.tick = -1 }

func (c *taskCreations) close() {
	if c.file != nil {
		c.file.Close()
	}
}
