// SPDX-License-Identifier: Apache-2.0

package observe

import "prywalk/internal/procmem"

// lentClocks keeps open the clock files of the threads stopped last that exceed the budget of open files.
type lentClocks struct {
	files [lentMost]*procmem.ThreadFiles
	next  int
}

// lentMost is small beside the limit of open files.
const lentMost = 32

// lend keeps the clocks of a thread open that is about to be stopped.
func (c *lentClocks) lend(f *procmem.ThreadFiles) {
	if !f.LendClock() {
		return
	}
	if old := c.files[c.next]; old != nil {
		old.ReturnClock()
	}
	c.files[c.next] = f
	c.next = (c.next + 1) % lentMost
}

func (c *lentClocks) close() {
	for i, f := range c.files {
		if f != nil {
			f.ReturnClock()
			c.files[i] = nil
		}
	}
}
