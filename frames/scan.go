// SPDX-License-Identifier: Apache-2.0

package frames

// In words. In no module, or in code that cannot be read, whose own frames a scan would leave out, only the word at the
// stack pointer is taken.
const (
	maxScanned       = 1024
	maxScannedUnread = 1
)

// mayScan returns false in generated code, whose return addresses need not follow a call, in [Module.NoFP]'s, and on
// arm64, where a leaf's return address is in a register.
func (w *Walker) mayScan() bool {
	m := w.rule.mod
	return w.arch.raOnStack && (m == nil || !m.Generated && !m.NoFP)
}

func (w *Walker) applyScan(callee function) StopReason {
	words := uint64(maxScanned)
	if m := w.rule.mod; m == nil || m.isUnread() {
		words = maxScannedUnread
	}
	sp := w.regs.SP()
	for i := range words {
		at := sp + 8*i
		v, ok := w.word(at)
		if !ok {
			if stop := w.stopAtUnread(at); stop == StopStackCut {
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

// isCopyOfReturnAddress recognises the copy that Free Pascal's main pushes below its return address. The CFA by the
// upper word is a multiple of 16 (System V ABI for x86-64, §3.2.2).
func (c *callerStep) isCopyOfReturnAddress(at, v Addr) bool {
	above, ok := c.word(at + 8)
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
