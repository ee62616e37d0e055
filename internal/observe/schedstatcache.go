// SPDX-License-Identifier: Apache-2.0

package observe

import "prywalk/internal/procmem"

// schedstatCache keeps the schedstat files of the last stopped threads open once the budget of open files is spent.
type schedstatCache struct {
	files [maxSchedstats]*procmem.ThreadFiles
	next  int
}

// maxSchedstats is small against the limit of open files.
const maxSchedstats = 32

// keepOpen opens the schedstat file of a thread about to be stopped, and closes the oldest one.
func (c *schedstatCache) keepOpen(f *procmem.ThreadFiles) {
	if !f.KeepSchedstatOpen() {
		return
	}
	if old := c.files[c.next]; old != nil {
		old.CloseKeptSchedstat()
	}
	c.files[c.next] = f
	c.next = (c.next + 1) % maxSchedstats
}

func (c *schedstatCache) close() {
	for i, f := range c.files {
		if f != nil {
			f.CloseKeptSchedstat()
			c.files[i] = nil
		}
	}
}
