// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"math"
	"time"

	"prywalk/frames"
	"prywalk/internal/budget"
	"prywalk/internal/callstack"
	"prywalk/internal/dump/walk"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
)

// maxSamples bounds the samples of a thread whose stack lacks a register or goes on beyond the copy.
const maxSamples = 6

// copyExtensionBytes is how many bytes more are copied, times four at each repetition. The mapping's end is no bound:
// 64 MB around goroutines' stacks.
const copyExtensionBytes = 1 << 20

type copyExtender struct {
	stack  uint64 // bytes
	memory *budget.Account
	taken  *int64        // bytes, of this thread's copies
	pause  time.Duration // longest stop of a running thread; 0: no bound
}

// planNext plans what the last walk lacked: more stack, a register, another stack (signal handler, split stack), a
// run-time system's data. False: nothing that can be copied.
func (m *copyExtender) planNext(t *loadedcode.Process, w *walk.Walker, th *observe.Thread, s *observe.RawSample) bool {
	planned := th.Feedback().Plan(callstack.Plan(t.Runtimes().FrameSources(), walk.InnerTID(t, th.TID), s.Regs.TLS))
	switch w.StopReason() {
	case frames.StopStackCut:
		size := m.stack
		sp, at := s.Regs.SP(), w.UnreadAddr()
		end := t.StackEnd(at)
		away := w.OnOtherStack() || end != t.StackEnd(sp)
		if away {
			size = min(end-at+1<<16, size)
		} else if end > sp {
			size = min(size, end-sp+1<<16)
		}
		if size = min(size, m.bytesWithinPause(s)); size <= uint64(s.Copied()) || !m.charge(int64(size)) {
			return planned
		}
		if away {
			th.Feedback().CopyOtherDeep(at, size)
		} else {
			th.Feedback().CopyDeep(size)
		}
	case frames.StopUnproven:
		th.Feedback().Unproven(s)
	case frames.StopBadMemory:
		if t.StackEnd(w.UnreadAddr()) == 0 {
			return planned
		}
		th.Feedback().CopyOther(w.UnreadAddr())
	default:
		return planned
	}
	return true
}

// bytesWithinPause estimates the bytes of stack for the permitted stop, by the last copy.
func (m *copyExtender) bytesWithinPause(s *observe.RawSample) uint64 {
	if m.pause <= 0 || s.How != observe.ByStop {
		return math.MaxUint64
	}
	rest := int64(m.pause) - max(s.StopTime-s.CopyTime, 0) // not spent copying
	return uint64(float64(s.Copied()) * float64(max(rest, 0)) / float64(max(s.CopyTime, 1)))
}

// charge charges a copy that replaces the earlier ones.
func (m *copyExtender) charge(size int64) bool {
	more := size - *m.taken
	if more > 0 && m.memory.Take(more, "stacks") != nil {
		return false
	}
	*m.taken = max(*m.taken, size)
	return true
}
