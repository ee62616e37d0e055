// SPDX-License-Identifier: Apache-2.0

package frames

// # Popped registers
//
// After a pop, call frame information mostly still gives the place of the push, now below the stack pointer, where the
// copy ends. The register has the value if that pop is just before pc; else it is unknown.

// x86-64 has six callee-saved registers; one more word may be popped.
const maxPopped = 7

func (c *callerStep) mayBePopped(at Addr) bool {
	return c.interrupted && c.arch.raOnStack && c.knowsSP() && at < c.regs.SP()
}

// poppedRegister returns the register that has the value of a place below the stack pointer.
func (c *callerStep) poppedRegister(at Addr) (reg uint8, ok bool) {
	m, below := c.resolved.mod, c.regs.SP()-at
	if m == nil || below%8 != 0 || below/8 > maxPopped {
		return 0, false
	}
	pops, ok := m.Calls.(PoppedRegisters)
	if !ok {
		return 0, false
	}
	return pops.Popped(c.regs.PC-m.Bias, int(below)/8)
}

func (c *callerStep) restorePopped(reg uint8, at Addr) {
	if from, ok := c.poppedRegister(at); ok && from == reg && c.regs.Known>>reg&1 != 0 {
		c.next.Set(reg, c.regs.Val[reg%NumRegs])
		return
	}
	c.next.Known &^= 1 << reg
}
