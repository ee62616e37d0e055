// SPDX-License-Identifier: Apache-2.0

package look

import "prywalk/internal/procmem"

// lentClocks are the files with the clocks of the threads that were stopped last, of those whose files cannot be kept
// open within the budget. Each is open until lentMost others were stopped.
type lentClocks struct {
	files [lentMost]*procmem.ThreadFiles
	next  int
}

// lentMost is small beside what is left of the limit of open files for all else that prywalk opens.
const lentMost = 32

// lend keeps the clocks of a thread that is about to be stopped open.
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

// close closes them.
func (c *lentClocks) close() {
	for i, f := range c.files {
		if f != nil {
			f.ReturnClock()
			c.files[i] = nil
		}
	}
}
