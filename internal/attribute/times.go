// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

type times struct{ cpu, runQueue, blocked int64 } // ns

func (t times) cpuAndQueue() int64 { return t.cpu + t.runQueue }

// within returns the time in length ns of whole; the rest fits whole − length.
func (t times) within(length, whole int64) times {
	cpu := min(sample.Portion(t.cpu, length, whole), length)
	runQueue := min(sample.Portion(t.runQueue, length, whole), length-cpu)
	rounded := t.cpuAndQueue() - (whole - length) - (cpu + runQueue)
	cpu += max(min(rounded, t.cpu-cpu, length-cpu-runQueue), 0)
	rounded = t.cpuAndQueue() - (whole - length) - (cpu + runQueue)
	runQueue += max(min(rounded, t.runQueue-runQueue, length-cpu-runQueue), 0)
	return times{cpu: cpu, runQueue: runQueue}
}
