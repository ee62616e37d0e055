// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"

	"prywalk/internal/procmem"
)

// StopThread is Begin, a wait until the deadline, on the clock of [Now], and Finish. A pending stop is continued.
// Errors: [ErrTimeout], after Cancel, and those of Begin and Finish.
func (c *Controller) StopThread(tid int, deadline int64, req *Request, out *Stop) error {
	attachment, err := c.Begin(tid)
	if err != nil && !errors.Is(err, ErrPending) {
		c.awaitUnknown()
		return err
	}
	sleep := int64(minSleep)
	for !c.Poll(attachment) {
		now := procmem.Now()
		if now >= deadline {
			c.Cancel(attachment)
			return ErrTimeout
		}
		if now >= c.spinUntil {
			c.nanosleep(min(sleep, deadline-now))
			sleep = min(sleep*2, maxSleep)
		}
		if now >= c.nextCheckAll {
			c.nextCheckAll = now + checkAllEvery
			c.checkOne(attachment)
		}
	}
	err = c.Finish(attachment, req, out)
	c.awaitUnknown()
	return err
}
