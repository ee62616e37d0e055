// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

var _ frames.LeftStack = (*Runtime)(nil)

// FindLeft implements [frames.LeftStack]. C code without rules runs between entersyscall and exitsyscall: the
// goroutine's place is in g.syscallsp and g.syscallpc, behind g.sched (runtime/runtime2.go).
func (r *Runtime) FindLeft(regs *frames.Regs, mem frames.Memory) (frames.LeftFrame, bool) {
	c := &r.offsets
	g, ok := c.curg(regs, mem)
	if !ok || g == 0 {
		return frames.LeftFrame{}, false
	}
	word := func(off int64) uint64 { w, _ := mem.Word(g + uint64(off)); return w }
	lo, hi := word(c.GStackLo), word(c.GStackHi)
	if sp := regs.SP(); sp >= lo && sp < hi {
		lo = sp + 1
	}
	if hi <= lo || lo == 0 {
		return frames.LeftFrame{}, false
	}
	sp, pc := word(c.SchedBP+8), word(c.SchedBP+16)
	if _, ok := r.program.table.find(pc - r.program.bias); ok && sp >= lo && sp < hi {
		return frames.LeftFrame{PC: pc, SP: sp}, true
	}
	return frames.LeftFrame{}, false
}
