// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"math"
	"time"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/filememory"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/watch/observe"
)

const maxFurtherSamples = 6 // of a thread

// copyExtensionBytes are the bytes of stack of the first longer copy, of another stack those that are added; each
// further one is four times as long. The mapping's end alone is no bound of a stack: goroutines' are in mappings of
// 64 MB.
const copyExtensionBytes = 1 << 20

// bytesBeyondStack is how far a copy goes at most beyond the end of the stack's mapping as last read.
const bytesBeyondStack = 1 << 16

type copyExtender struct {
	stack  uint64 // bytes of the next copy
	memory *filememory.Account
	taken  int64         // bytes, from memory
	pause  time.Duration // of a running thread's longest stop; 0 means no bound
}

// planNext plans what the last walk lacked: more stack, a register, another stack (signal handler, split stack), a
// runtime's data. It returns false if nothing can be added.
func (e *copyExtender) planNext(t *loadedcode.Process, w *walk.Walker, th *observe.Thread, s *observe.RawSample) bool {
	planned := th.Feedback().SetPlan(callstack.Plan(t.Runtimes().FrameSources(), walk.InnerTID(t, th.ID.TID), s.Regs.TLS))
	switch w.StopReason() {
	case frames.StopStackCut:
		return e.planStack(t, w, th, s) || planned
	case frames.StopUnproven:
		th.Feedback().StopForRegister(s)
	case frames.StopBadMemory:
		if t.StackEnd(w.UnreadAddr()) == 0 {
			return planned
		}
		th.Feedback().AddOtherStack(w.UnreadAddr())
	default:
		return planned
	}
	return true
}

func (e *copyExtender) planStack(t *loadedcode.Process, w *walk.Walker, th *observe.Thread, s *observe.RawSample) bool {
	from, unread, copied := s.Regs.SP(), w.UnreadAddr(), uint64(s.Copied())
	end := t.StackEnd(unread)
	kept := uint64(0) // bytes besides the next copy's size
	other := w.OnOtherStack() || end != t.StackEnd(from)
	if other {
		from, kept = unread, copied
	}
	size := min(e.stack, max(e.bytesWithinPause(s), kept)-kept)
	if other || end > from {
		size = min(size, end-from+bytesBeyondStack)
	}
	switch {
	case kept+size <= copied:
		// A stop that took longer than is permitted ended its copy early: another may copy as much as was planned.
		return e.pause > 0 && s.How == observe.ByStop && s.Stop.StopTime > e.pause
	case !e.charge(int64(kept + size)):
		return false
	case other:
		th.Feedback().ExtendOtherStack(unread, size)
	default:
		th.Feedback().SetDeepCopySize(size)
	}
	return true
}

// bytesWithinPause estimates a permitted stop's bytes by the last copy.
func (e *copyExtender) bytesWithinPause(s *observe.RawSample) uint64 {
	if e.pause <= 0 || s.How != observe.ByStop {
		return math.MaxUint64
	}
	rest := int64(e.pause - max(s.Stop.StopTime-s.Cost.CopyTime, 0)) // not spent copying
	return uint64(float64(s.Copied()) * float64(max(rest, 0)) / float64(max(s.Cost.CopyTime, 1)))
}

func (e *copyExtender) charge(size int64) bool {
	more := size - e.taken
	if more > 0 && e.memory.Take(more, "stacks") != nil {
		return false
	}
	e.taken = max(e.taken, size)
	return true
}
