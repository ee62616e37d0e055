// SPDX-License-Identifier: Apache-2.0

package frames

// stepByFramePointer computes the caller by the two words at the frame pointer: the caller's frame pointer, further out
// or 0, and a return address that can have called this function. The caller's stack pointer is directly above on x86-64
// (System V ABI, figure 3.3), and no lower on arm64 ([Walker.findSPByRecord]).
func (c *callerStep) stepByFramePointer(start Addr, known bool) bool {
	info := c.regs.Arch.info()
	fp, ok := c.regs.Get(info.fp)
	if !ok || fp < c.regs.SP() || fp%8 != 0 {
		return false
	}
	outer, ok := c.mem.Word(fp)
	if !ok || outer != 0 && outer <= fp {
		return false
	}
	ra, ok := c.mem.Word(fp + 8)
	if ra &^= c.regs.PACMask; !ok || !c.mayReturnTo(ra, outer, start, known) {
		return false
	}
	c.setCaller(ra, fp+16)
	if !info.raOnStack {
		c.next.Known &^= 1 << info.sp
	}
	c.next.Set(info.fp, outer)
	return true
}

// mayReturnTo reports whether the function at start can return to ra, found by a frame pointer; outer is the next one.
func (c *callerStep) mayReturnTo(ra, outer, start Addr, known bool) bool {
	if c.space.isReturnAddressOf(ra, start, known) {
		return true
	}
	if m := c.module(); m != nil && m.Generated && c.space.isGenerated(ra) {
		return true
	}
	return c.mayBeReachedByTailCall(ra, outer)
}

// mayBeReachedByTailCall reports whether ra follows a call of a function that may have ended in a jump to this one
// (V8's entry trampoline calls a builtin that jumps to the function), and outer leads to another return address.
func (c *callerStep) mayBeReachedByTailCall(ra, outer Addr) bool {
	if !c.space.isReturnAddressOf(ra, 0, false) || outer == 0 {
		return false
	}
	if call, ok := c.space.callBefore(ra); ok && call.Direct && !c.space.mayTailCall(call.Target) {
		return false
	}
	next, ok := c.mem.Word(outer + 8)
	next &^= c.regs.PACMask
	return ok && next >= 4096 && c.space.followsCall(next)
}
