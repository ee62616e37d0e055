// SPDX-License-Identifier: Apache-2.0

package heuristics

// # Assembly that calls its own helpers
//
// Hand-written code of which no bounds are known, as that of video encoders, calls parts of itself without aligning
// the stack: it knows that they do not need that. The paths to its returns then are no votes, as calls on them are
// not made as the ABI says. The doubt is whether a call does not return, and the path led into the next function. It
// is none if each of these calls goes to a place that is known by no bounds either, calls nobody itself, and is seen to
// return.

// maxHelpers bounds the calls that are asked about.
const maxHelpers = 4

// helpers are the places that the calls of paths with such calls lead to.
type helpers struct {
	list [maxHelpers]uint64
	n    int
	// others: some call leads elsewhere, or nobody knows where.
	others bool
}

// add takes note of a call's target, 0 if it is not known.
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

// helped reports whether what the paths with calls of helpers show holds: they agree, and the helpers return.
func (w *interpreter) helped(v *votes) bool {
	if !v.hasOdd || v.oddDiffers || v.helpers.others || v.helpers.n == 0 {
		return false
	}
	for _, target := range v.helpers.list[:v.helpers.n] {
		if _, _, known := w.src.bounds(target); known {
			return false
		}
		back := w.forward(target, false, 0, ^uint64(0))
		f, sure := back.winner()
		if f == nil || !sure || back.helpers != (helpers{}) || f.cfa != start(w.src.abi.sp).plus(w.src.abi.entry) {
			return false
		}
	}
	return true
}

// calledBefore is the target of the call that ends at pc, 0 if it is not known.
func (s *Source) calledBefore(pc uint64) uint64 {
	if c, ok := s.CallBefore(pc); ok && c.Direct {
		return c.Target
	}
	return 0
}
