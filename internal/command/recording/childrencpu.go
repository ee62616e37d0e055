// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"slices"

	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
)

// childrenCPU is the CPU time of the targets' unrecorded descendants.
type childrenCPU struct {
	ticks uint64 // including ended ones that were waited for; [procmem.ClockTick]
	live  map[int]uint64
	known bool
}

// readChildrenCPU returns a growing sum, as wait(2) adds a child's time to its parent's, unless a process outside
// adopts a child.
func readChildrenCPU(targets []int) (c childrenCPU) {
	c = childrenCPU{live: map[int]uint64{}, known: true}
	for _, target := range targets {
		var s procmem.Stat
		if procmem.ReadStat(target, &s) != nil || s.Ended() {
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

const minChildrenCPU = 0.1 // s

// since returns "" if the time is little or unknown.
func (c *childrenCPU) since(before *childrenCPU) string {
	if !c.known || !before.known || c.ticks <= before.ticks {
		return ""
	}
	used := float64(c.ticks-before.ticks) * procmem.ClockTick / 1e9
	if used < minChildrenCPU {
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
