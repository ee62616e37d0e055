// SPDX-License-Identifier: Apache-2.0

package frames

// # Popped registers
//
// After a pop, call frame information mostly still gives the place of the push, now below the stack pointer, where the
// copy ends. If that pop is just before pc, the register has the value; else it is unknown.

// PoppedRegisters is a [CallSites] that knows which registers were just popped.
type PoppedRegisters interface {
	// Popped returns the register whose pop left the word n × 8 bytes below the stack pointer (1: the last pop). pc is
	// a module address behind or between pops; false if uncertain.
	Popped(pc Addr, n int) (reg uint8, ok bool)
}

const maxPopped = 7

func (u *unwinder) belowSP(at Addr) bool {
	return !u.caller && u.regs.Arch.info().raOnStack && u.knowsSP() && at < u.regs.SP()
}

// popped returns the register that has the value of a place below the stack pointer.
func (u *unwinder) popped(at Addr) (reg uint8, ok bool) {
	m := u.module()
	if below := u.regs.SP() - at; m == nil || below%8 != 0 || below/8 > maxPopped {
		return 0, false
	}
	p, ok := m.Calls.(PoppedRegisters)
	if !ok {
		return 0, false
	}
	return p.Popped(u.regs.PC-m.Bias, int(u.regs.SP()-at)/8)
}

func (u *unwinder) restorePopped(reg uint8, at Addr) {
	if from, ok := u.popped(at); ok && from == reg && u.regs.Known>>reg&1 != 0 {
		u.next.Set(reg, u.regs.Val[reg%NumRegs])
		return
	}
	u.next.Known &^= 1 << reg
}
