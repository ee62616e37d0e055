// SPDX-License-Identifier: Apache-2.0

package frames

// applyFramePointer takes the two words at the frame pointer: the caller's frame pointer, further out or 0, and a
// return address that can have called this function. The caller's stack pointer is directly above on x86-64 (System V
// ABI, figure 3.3), and no lower on arm64 ([Walker.findSPByRecord]).
func (c *callerStep) applyFramePointer(callee function) bool {
	fp, ok := c.regs.Get(c.arch.fp)
	if !ok || fp < c.regs.SP() || fp%8 != 0 {
		return false
	}
	outerFP, ok := c.word(fp)
	if !ok || outerFP != 0 && outerFP <= fp {
		return false
	}
	ra, ok := c.word(fp + 8)
	if ra &^= c.regs.PACMask; !ok || !c.mayReturnTo(ra, outerFP, callee) {
		return false
	}
	c.setCaller(ra, fp+16)
	if !c.arch.raOnStack {
		c.next.Known &^= 1 << c.arch.sp
	}
	c.next.Set(c.arch.fp, outerFP)
	return true
}

// mayReturnTo reports whether ra can be the return address. ra and outerFP are the words at the frame pointer.
func (c *callerStep) mayReturnTo(ra, outerFP Addr, callee function) bool {
	return c.space.isReturnAddressOf(ra, callee) ||
		c.rule.isGenerated() && c.space.isGenerated(ra) ||
		c.mayBeReachedByTailCall(ra, outerFP)
}

// mayBeReachedByTailCall reports whether the function called before ra may have ended in a jump to this one (V8's entry
// trampoline calls a builtin that jumps to the function). outerFP must lead to another return address.
func (c *callerStep) mayBeReachedByTailCall(ra, outerFP Addr) bool {
	if !c.space.isReturnAddressOf(ra, function{}) || outerFP == 0 {
		return false
	}
	outerRA, ok := c.word(outerFP + 8)
	outerRA &^= c.regs.PACMask
	return ok && outerRA >= minCodeAddr && c.space.followsCall(outerRA)
}
