// SPDX-License-Identifier: Apache-2.0

package frames

// Bounds of a scan, in words. Larger frames are not found. Code in no module has pushed the return address; code newer
// than the modules may have pushed more.
const (
	maxScanned           = 1024
	maxScannedInNoModule = 1
)

// mayScan reports whether a scan can find the caller. Callers in generated code need not call: there a word that
// follows a call is mostly a remnant. On arm64 a leaf's return address is in a register.
func (w *Walker) mayScan() bool {
	m := w.rule.mod
	return w.arch.raOnStack && (m == nil || !m.Generated && !m.NoFP)
}

// applyScan takes the first stack word that follows a call of the callee.
func (w *Walker) applyScan(callee function) StopReason {
	words := uint64(maxScanned)
	if w.rule.mod == nil {
		words = maxScannedInNoModule
	}
	sp := w.regs.SP()
	for i := range words {
		at := sp + 8*i
		v, ok := w.word(at)
		if !ok {
			if stop := w.stopAtUnread(at); stop == StopStackCut {
				w.scanWasCut = true
				return stop
			}
			break
		}
		if w.space.isReturnAddressOf(v, callee) {
			if w.isCopyOfReturnAddress(at, v) {
				at += 8
			}
			w.setCaller(v, at+8)
			return StopNone
		}
		if w.space.isGenerated(v) {
			break // a return address there need not follow a call
		}
	}
	return w.noRuleReason()
}

// isCopyOfReturnAddress reports whether the word v is a copy of the return address above it (Free Pascal's main):
// equal, and the CFA is then a multiple of 16 (System V ABI for x86-64, §3.2.2).
func (c *callerStep) isCopyOfReturnAddress(at, v Addr) bool {
	above, ok := c.word(at + 8)
	return ok && above == v && at%16 == 0
}

// setCaller sets pc and sp, and keeps a frame pointer into the caller's part of the stack.
func (c *callerStep) setCaller(pc, sp Addr) {
	c.next.begin(0)
	if fp, ok := c.regs.Get(c.arch.fp); ok && fp >= sp {
		c.next.Set(c.arch.fp, fp)
	}
	c.next.PC = pc
	c.next.Set(c.arch.sp, sp)
}
