// SPDX-License-Identifier: Apache-2.0

package frames

// # Popped registers
//
// After a pop, call frame information mostly still gives the place of the push, now below the stack pointer: there
// signal handlers may write, and the copy has nothing. If the instructions before the program counter are that pop, the
// value is in the register itself. Otherwise it is unknown, and the walk goes on until a frame needs it.

// Pops is a [CallSites] that knows which registers were just popped.
type Pops interface {
	// Popped gives the register whose pop left the word n × 8 bytes below the stack pointer; n is 1 for the last pop. pc
	// is a module address behind or between pops; false if that is uncertain.
	Popped(pc Addr, n int) (reg uint8, ok bool)
}

// Returns is a [CallSites] that knows which registers code about to return has restored. In functions whose stack GCC
// has realigned, call frame information gives places relative to the frame pointer even after its pop, when they belong
// to another frame.
type Returns interface {
	// AboutToReturn gives the callee-saved registers that the instructions from pc, a module address, to the return do not
	// change, as a set of DWARF numbers. These have the caller's values. It gives 0 if the instructions do not lead
	// straight to a return.
	AboutToReturn(pc Addr) (kept uint32)
}

// maxPopped is the most pops that are looked at.
const maxPopped = 7

// belowSP reports whether a place is below the innermost frame's stack pointer.
func (u *unwinder) belowSP(at Addr) bool {
	return !u.caller && u.regs.Arch.info().raOnStack && u.knowsSP() && at < u.regs.SP()
}

// popped gives the register that has the value of a place below the stack pointer.
func (u *unwinder) popped(at Addr) (reg uint8, ok bool) {
	m := u.module()
	if below := u.regs.SP() - at; m == nil || below%8 != 0 || below/8 > maxPopped {
		return 0, false
	}
	p, ok := m.Calls.(Pops)
	if !ok {
		return 0, false
	}
	return p.Popped(u.regs.PC-m.Bias, int(u.regs.SP()-at)/8)
}

// restorePopped restores a register whose place below the stack pointer cannot be read.
func (u *unwinder) restorePopped(reg uint8, at Addr) {
	if from, ok := u.popped(at); ok && from == reg && u.regs.Known>>reg&1 != 0 {
		u.next.Set(reg, u.regs.Val[reg%NumRegs])
		return
	}
	u.next.Known &^= 1 << reg
}
