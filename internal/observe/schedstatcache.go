// SPDX-License-Identifier: Apache-2.0

package observe

import "prywalk/internal/procmem"

// schedstatCache keeps open the clock files of the threads stopped last that exceed the budget of open files.
type schedstatCache struct {
	files [mostSchedstats]*procmem.ThreadFiles
	next  int
}

// mostSchedstats is small beside the limit of open files.
const mostSchedstats = 32

// keepOpen keeps the clocks of a thread open that is about to be stopped.
func (c *schedstatCache) keepOpen(f *procmem.ThreadFiles) {
	if !f.KeepSchedstatOpen() {
		return
	}
	if old := c.files[c.next]; old != nil {
		old.CloseKeptSchedstat()
	}
	c.files[c.next] = f
	c.next = (c.next + 1) % mostSchedstats
}

func (c *schedstatCache) close() {
	for i, f := range c.files {
		if f != nil {
			f.CloseKeptSchedstat()
			c.files[i] = nil
		}
	}
}
