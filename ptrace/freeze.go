package ptrace

import (
	"errors"

	"prywalk/internal/procmem"
)

// Freeze is one look from begin to end: it waits for the thread until the
// deadline (on the clock of procmem.Now) and gives it up then ([ErrTimeout]). Other
// pending looks wait meanwhile. Errors: those of Begin and Finish.
func (c *Controller) Freeze(tid int, deadline int64, req *Request, out *Stop) error {
	l, err := c.Begin(tid)
	if err != nil && !errors.Is(err, ErrPending) {
		return err
	}
	sleep := int64(napMin)
	for !c.Poll(l) {
		now := procmem.Now()
		if now >= deadline {
			c.Cancel(l)
			return ErrTimeout
		}
		if now >= c.wakeup {
			c.nap(min(sleep, deadline-now))
			sleep = min(sleep*2, napMax)
		}
		if now >= c.audit {
			c.audit = now + auditEvery
			c.checkOne(l)
		}
	}
	err = c.Finish(l, req, out)
	c.serveLost()
	return err
}
