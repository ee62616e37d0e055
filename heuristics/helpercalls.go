// SPDX-License-Identifier: Apache-2.0

package heuristics

// # Assembly that calls its own helpers
//
// Hand-written code of unknown bounds calls parts of itself without aligning the stack. Such a path votes only if each
// target has unknown bounds, calls nothing and returns.

const maxHelpers = 4

type helpers struct {
	list [maxHelpers]uint64
	n    int
	// a target is of another kind, or unknown
	others bool
}

// add adds the target of a call; 0: unknown.
func (h *helpers) add(target uint64) {
	for _, known := range h.list[:h.n] {
		if known == target {
			return
		}
	}
	if target == 0 || h.n == maxHelpers {
		h.others = true
		return
	}
	h.list[h.n] = target
	h.n++
}

// helpersReturn reports whether the paths with misaligned calls agree, and their helpers return.
func (w *interpreter) helpersReturn(v *votes) bool {
	if !v.hasMisaligned || v.misalignedDiffers || v.helpers.others || v.helpers.n == 0 {
		return false
	}
	for _, target := range v.helpers.list[:v.helpers.n] {
		if _, _, known := w.src.bounds(target); known {
			return false
		}
		back := w.analyseForward(target, false, 0, ^uint64(0))
		f, sure := back.best()
		if f == nil || !sure || back.helpers != (helpers{}) || f.cfa != startValue(w.src.abi.sp).plus(w.src.abi.entry) {
			return false
		}
	}
	return true
}

// calledBefore returns the target of the call that ends at pc, 0 if unknown.
func (s *Source) calledBefore(pc uint64) uint64 {
	if c, ok := s.CallBefore(pc); ok && c.Direct {
		return c.Target
	}
	return 0
}
