// SPDX-License-Identifier: Apache-2.0

package frames

// byFramePointer computes the caller by the two words at the frame pointer: the caller's frame pointer, further out or
// 0, and a return address that can have called this function. The caller's stack pointer is directly above on x86-64
// (System V ABI, figure 3.3), and no lower on arm64 ([Walker.findSPByRecord]).
func (u *unwinder) byFramePointer(start Addr, known bool) bool {
	info := u.regs.Arch.info()
	fp, ok := u.regs.Get(info.fp)
	if !ok || fp < u.regs.SP() || fp%8 != 0 {
		return false
	}
	outer, ok := u.mem.Word(fp)
	if !ok || outer != 0 && outer <= fp {
		return false
	}
	ra, ok := u.mem.Word(fp + 8)
	if ra &^= u.regs.PACMask; !ok || !u.returnsTo(ra, outer, start, known) {
		return false
	}
	u.setCaller(ra, fp+16)
	if !info.raOnStack {
		u.next.Known &^= 1 << info.sp
	}
	u.next.Set(info.fp, outer)
	return true
}

// returnsTo reports whether the function at start can return to ra, found by a frame pointer; outer is the next one.
func (u *unwinder) returnsTo(ra, outer, start Addr, known bool) bool {
	if u.space.isReturnAddressOf(ra, start, known) {
		return true
	}
	if m := u.module(); m != nil && m.Generated && u.space.isGenerated(ra) {
		return true
	}
	return u.reachedByTailCall(ra, outer)
}

// reachedByTailCall reports whether ra follows a call of a function that may have ended in a jump to this one (V8's
// entry trampoline calls a builtin that jumps to the function), and outer leads to another return address.
func (u *unwinder) reachedByTailCall(ra, outer Addr) bool {
	if !u.space.isReturnAddressOf(ra, 0, false) || outer == 0 {
		return false
	}
	if call, ok := u.space.callBefore(ra); ok && call.Direct && !u.space.mayTailCall(call.Target) {
		return false
	}
	next, ok := u.mem.Word(outer + 8)
	next &^= u.regs.PACMask
	return ok && next >= 4096 && u.space.followsCall(next)
}
