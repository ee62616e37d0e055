// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"slices"

	"prywalk/internal/process"
	"prywalk/internal/procmem"
)

// childrenCPU is the processor time of the descendants of the targets that are not recorded themselves, until now.
type childrenCPU struct {
	ticks uint64         // of all, those included that have ended and that their parents have waited for
	live  map[int]uint64 // of those that live, by their numbers
	known bool           // all targets could be read
}

// readChildrenCPU reads the kernel's counts. A process's own count moves to its parent's count of children when the
// parent waits for it, so the sum only grows, unless a process is inherited by one outside.
func readChildrenCPU(targets []int) (c childrenCPU) {
	c = childrenCPU{live: map[int]uint64{}, known: true}
	for _, target := range targets {
		var s procmem.Stat
		if procmem.ReadStat(target, &s) != nil || s.State == 'Z' {
			c.known = false
			return c
		}
		c.ticks += s.ChildUTime + s.ChildSTime
		for _, pid := range process.Descendants(target) {
			if _, seen := c.live[pid]; seen || slices.Contains(targets, pid) || procmem.ReadStat(pid, &s) != nil {
				continue
			}
			c.live[pid] = s.UTime + s.STime
			c.ticks += s.UTime + s.STime + s.ChildUTime + s.ChildSTime
		}
	}
	return c
}

// ticksPerSecond is USER_HZ, in which the kernel tells processor time.
const ticksPerSecond = 100

// leastChildrenCPU is the processor time of children, in seconds, that is worth a message.
const leastChildrenCPU = 0.1

// since says what children used since an earlier reading, "" if that is little or not known.
func (c *childrenCPU) since(before *childrenCPU) string {
	if !c.known || !before.known || c.ticks <= before.ticks {
		return ""
	}
	used := float64(c.ticks-before.ticks) / ticksPerSecond
	if used < leastChildrenCPU {
		return ""
	}
	ran := int64(0)
	for pid, ticks := range c.live {
		if ticks > before.live[pid] {
			ran++
		}
	}
	who := "exited child processes"
	switch {
	case ran == 1:
		who = "1 child process"
	case ran > 1:
		who = fmt.Sprintf("%d child processes", ran)
	}
	return fmt.Sprintf("%s used %.1f s of CPU meanwhile, not in the recording; --children includes them, "+
		"also those already running", who, used)
}
