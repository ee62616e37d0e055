// SPDX-License-Identifier: Apache-2.0

package heuristics

// maxTailCallBytes bounds the functions that EndsInTailCall reads, in bytes.
const maxTailCallBytes = 64 << 10

// EndsInTailCall implements [frames.TailCalls]. It is also true if the bounds are unknown or too far apart, or there is
// an indirect jump or an invalid instruction.
func (s *Source) EndsInTailCall(start uint64) bool {
	lo, hi, ok := s.bounds(start)
	if s.abi == nil || s.opt.Code == nil || !ok || lo != start || hi-lo > maxTailCallBytes {
		return true
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	return s.abi.hasTailCall(w, lo, hi)
}
