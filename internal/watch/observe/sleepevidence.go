// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"math/bits"

	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

// sleepEvidence shows whether a thread has run since an observation, or is in the sleep in which it was stopped.
type sleepEvidence struct {
	base                 baseline
	kept                 keptRegs
	unconfirmedSinceRead bool // read passively, and not found unchanged since
	retries              retryBackoff
}

// confirmUnchanged returns false also if an incomplete stack is to be read again.
func (e *sleepEvidence) confirmUnchanged(sched procmem.SchedStat, files *procmem.ThreadFiles, incomplete bool) bool {
	if !e.base.isUnchanged(sched) && !e.base.acceptReturnToStop(sched, files) {
		e.retries = 0
		return false
	}
	if e.retries.countUnchanged(incomplete) {
		return false
	}
	e.unconfirmedSinceRead = false
	return true
}

type baseline struct {
	runs               uint64
	runsUntilGroupStop uint64 // PTRACE_DETACH causes one run back into a group stop
	state              sample.State
	valid              bool
}

func baselineOf(stop *ptrace.Stop) baseline {
	b := baseline{runs: stop.Sched.Runs, state: sample.Running, valid: stop.SchedOK}
	if stop.Kind == ptrace.KindGroup {
		b.state, b.runsUntilGroupStop = sample.Stopped, 1
	}
	return b
}

// isUnchanged returns false for a run count of 0, which proves nothing (no CONFIG_SCHED_INFO).
func (b *baseline) isUnchanged(s procmem.SchedStat) bool {
	return b.valid && b.runsUntilGroupStop == 0 && s.Runs == b.runs && s.Runs != 0
}

// acceptReturnToStop makes the group stop the baseline if the thread has run only to return into it; else false.
func (b *baseline) acceptReturnToStop(s procmem.SchedStat, files *procmem.ThreadFiles) bool {
	if !b.valid || b.runsUntilGroupStop == 0 || s.Runs != b.runs+b.runsUntilGroupStop {
		return false
	}
	var st procmem.Stat
	if files.Stat(&st) != nil || sample.StateOf(st.State) != sample.Stopped {
		return false
	}
	b.runs, b.runsUntilGroupStop = s.Runs, 0
	return true
}

// A sleeper with an incomplete stack is read again the 2nd, 8th, 32nd time and so on.
type retryBackoff uint32

// countUnchanged counts an observation of an unchanged thread, and returns whether to read the thread again.
func (r *retryBackoff) countUnchanged(incomplete bool) bool {
	if !incomplete {
		*r = 0
		return false
	}
	*r++
	n := uint32(*r)
	return bits.OnesCount32(n) == 1 && bits.TrailingZeros32(n)%2 == 1
}
