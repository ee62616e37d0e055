// SPDX-License-Identifier: Apache-2.0

package heuristics

// leavesBytes bounds the functions that LeavesByJump reads, in bytes.
const leavesBytes = 64 << 10

// LeavesByJump implements [frames.TailCalls]. It is also true if the bounds are unknown or too far apart, or there is
// an indirect jump or an invalid instruction.
func (s *Source) LeavesByJump(start uint64) bool {
	lo, hi, ok := s.bounds(start)
	if s.abi == nil || s.opt.Code == nil || !ok || lo != start || hi-lo > leavesBytes {
		return true
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	return s.abi.leaves(w, lo, hi)
}
