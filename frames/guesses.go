// SPDX-License-Identifier: Apache-2.0

package frames

// applyFramePointer takes the two words at the frame pointer: the caller's frame pointer, further out or 0, and a
// return address that can have called this function. The caller's stack pointer is directly above on x86-64 (System V
// ABI, figure 3.3), and no lower on arm64 ([Walker.findSPByRecord]).
func (c *callerStep) applyFramePointer(callee Addr) bool {
	fp, ok := c.regs.Get(c.arch.fp)
	if !ok || fp < c.regs.SP() || fp%8 != 0 {
		return false
	}
	outerFP, ra, ok := c.frameRecord(fp)
	if !ok || !c.mayReturnTo(ra, outerFP, callee) {
		return false
	}
	c.setCaller(ra, fp+16)
	if !c.arch.raOnStack {
		c.next.Known &^= 1 << c.arch.sp
	}
	c.next.Set(c.arch.fp, outerFP)
	return true
}

// frameRecord returns the two words at a frame pointer, or false if they are none. Beyond code that cannot be read, the
// caller may use the register for other values.
func (c *callerStep) frameRecord(fp Addr) (outerFP, ra Addr, ok bool) {
	outerFP, hasFP := c.mem.Word(fp)
	ra, hasRA := c.mem.Word(fp + 8)
	ra &^= c.regs.PACMask
	further := outerFP == 0 || outerFP > fp || c.resolved.mod.isUnread() && !c.space.ModuleAt(ra).isUnread()
	return outerFP, ra, hasFP && hasRA && further
}

// mayReturnTo reports whether ra can be the return address. ra and outerFP are the words at the frame pointer.
func (c *callerStep) mayReturnTo(ra, outerFP Addr, callee Addr) bool {
	return c.space.isReturnAddressOf(ra, callee) ||
		c.resolved.isGenerated() && c.space.isGenerated(ra) ||
		c.mayBeReachedByTailCall(ra, outerFP) ||
		c.space.ModuleAt(ra).isUnread() && c.leadsOutOfUnreadCode(outerFP)
}

// mayBeReachedByTailCall reports whether the function called before ra may have ended in a jump to this one (V8's entry
// trampoline calls a builtin that jumps to the function). outerFP must lead to another return address.
func (c *callerStep) mayBeReachedByTailCall(ra, outerFP Addr) bool {
	if !c.space.isReturnAddressOf(ra, noFunction) || outerFP == 0 {
		return false
	}
	outerRA, ok := c.mem.Word(outerFP + 8)
	outerRA &^= c.regs.PACMask
	return ok && outerRA >= minCodeAddr && c.space.followsCall(outerRA)
}

const maxUnreadFrames = 256

// leadsOutOfUnreadCode reports whether the records from fp on lead, through modules whose code cannot be read (a core's
// file is missing), to a return address behind a call, or to a frame pointer of 0.
func (c *callerStep) leadsOutOfUnreadCode(fp Addr) bool {
	for range maxUnreadFrames {
		outerFP, ra, ok := c.frameRecord(fp)
		switch {
		case fp == 0:
			return true
		case !ok || !c.space.ModuleAt(ra).isUnread():
			return ok && c.space.isReturnAddressOf(ra, noFunction)
		}
		fp = outerFP
	}
	return false
}

// maxScanned is the number of stack words that a scan examines. From code that is in no module, or cannot be read, it
// examines only the word at the stack pointer, as it would leave out that code's own frames.
const (
	maxScanned       = 1024
	maxScannedUnread = 1
)

// mayScan returns false in generated code, whose return addresses need not follow a call, in [Module.NoFP]'s, and on
// arm64, where a leaf's return address is in a register.
func (w *Walker) mayScan() bool {
	m := w.frame.resolved.mod
	return w.frame.arch.raOnStack && (m == nil || !m.Generated && !m.NoFP)
}

func (w *Walker) applyScan(callee Addr) StopReason {
	words := uint64(maxScanned)
	if m := w.frame.resolved.mod; m == nil || m.isUnread() {
		words = maxScannedUnread
	}
	sp := w.frame.regs.SP()
	for i := range words {
		at := sp + 8*i
		v, ok := w.frame.mem.Word(at)
		if !ok {
			if stop := w.frame.stopAtUnread(at); stop == StopStackCut {
				return stop
			}
			break
		}
		if w.frame.space.isReturnAddressOf(v, callee) {
			if w.frame.isCopyOfReturnAddress(at, v) {
				at += 8
			}
			w.frame.setCaller(v, at+8)
			return StopNone
		}
		if w.frame.space.isGenerated(v) {
			break // a return address there need not follow a call
		}
	}
	return w.noRuleReason()
}

// isCopyOfReturnAddress recognises the copy that Free Pascal's main pushes below its return address. The CFA by the
// upper word is a multiple of 16 (System V ABI for x86-64, §3.2.2).
func (c *callerStep) isCopyOfReturnAddress(at, v Addr) bool {
	above, ok := c.mem.Word(at + 8)
	return ok && above == v && at%16 == 0
}

// setCaller keeps the frame pointer if it is at sp or further out.
func (c *callerStep) setCaller(pc, sp Addr) {
	c.next.begin(0)
	if fp, ok := c.regs.Get(c.arch.fp); ok && fp >= sp {
		c.next.Set(c.arch.fp, fp)
	}
	c.next.PC = pc
	c.next.Set(c.arch.sp, sp)
}
