// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// baseline is a thread's run count at an observation while it was off the CPU.
type baseline struct {
	runs       uint64
	runsToStop uint64 // until the thread is back in its group stop: PTRACE_DETACH causes one run
	state      sample.State
	valid      bool
	detachedAt int64  // CLOCK_MONOTONIC ns, 0 without a stop
	cpu        uint64 // CPU time at the stop, ns
}

func baselineOf(stop *ptrace.Stop) baseline {
	b := baseline{
		runs: stop.Sched.Runs, state: sample.Running, valid: stop.SchedOK, detachedAt: stop.Detach, cpu: stop.Sched.CPU,
	}
	if stop.Kind == ptrace.KindGroup {
		b.state, b.runsToStop = sample.Stopped, 1
	}
	return b
}

// A run count of 0 proves nothing: a kernel without CONFIG_SCHED_INFO does not count.
func (b *baseline) isUnchanged(s procmem.SchedStat) bool {
	return b.valid && b.runsToStop == 0 && s.Runs == b.runs && s.Runs != 0
}

// acceptReturnToStop makes the group stop the baseline if the thread has run only to return into it.
func (b *baseline) acceptReturnToStop(s procmem.SchedStat, files *procmem.ThreadFiles) bool {
	if !b.valid || b.runsToStop == 0 || s.Runs != b.runs+b.runsToStop {
		return false
	}
	var st procmem.Stat
	if files.Stat(&st) != nil || sample.StateOf(st.State) != sample.Stopped {
		return false
	}
	b.runs, b.runsToStop = s.Runs, 0
	return true
}

// lastRun returns the thread's run since its last stop, if it ran exactly once.
func (b *baseline) lastRun(now *procmem.SchedStat) (run skid.Run) {
	if b.valid && now.Runs == b.runs+1 {
		run.DetachedAt, run.CPU = b.detachedAt, int64(now.CPU-b.cpu)
	}
	return run
}
