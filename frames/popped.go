// SPDX-License-Identifier: Apache-2.0

package frames

// # Words that were popped
//
// The kernel's copy of a running thread's stack begins at its stack pointer. Call frame information mostly goes on
// to say, after a function has popped a register, that its caller's value lies where it was pushed. By then that is
// below the stack pointer, where signal handlers may write, and where that copy has nothing. The value is in the
// register itself. Where the instructions before the program counter show that, it is taken. Else the register is
// not known, and the walk goes on for as long as no frame needs it.

// Pops is what a [CallSites] implements that can tell which registers were just popped.
type Pops interface {
	// Popped gives the register whose pop left the word at n units of 8 bytes below the stack pointer: 1 is the last
	// one. pc, the module's own address, is where the thread is, directly behind pops, or between them. False if that is
	// not sure.
	Popped(pc Addr, n int) (reg uint8, ok bool)
}

// Returns is what a [CallSites] implements that can tell which registers code has given back that is about to return.
//
// GCC realigns the stack of some functions, and saves their registers relative to the frame pointer. Its call frame
// information goes on to say so when that has been popped. The places are then those of another frame.
type Returns interface {
	// AboutToReturn gives the kept registers that the last instructions leave as they are, up to the return, as a set
	// of DWARF numbers: they have their caller's values. pc, the module's own address, is where the thread is. 0: there
	// are more instructions, or they do not lead straight to a return.
	AboutToReturn(pc Addr) (kept uint32)
}

// maxPopped is how many pops are looked for: as many as there are registers to be kept.
const maxPopped = 7

// belowSP reports whether a place has been given up by the innermost frame's function: it lies below the stack pointer.
func (w *Walker) belowSP(at Addr) bool {
	return !w.caller && w.regs.Arch.info().raOnStack && w.knowsSP() && at < w.regs.SP()
}

// popped gives the register that has the value of a place below the stack pointer.
func (w *Walker) popped(at Addr) (reg uint8, ok bool) {
	m := w.module()
	if below := w.regs.SP() - at; m == nil || below%8 != 0 || below/8 > maxPopped {
		return 0, false
	}
	p, ok := m.Calls.(Pops)
	if !ok {
		return 0, false
	}
	return p.Popped(w.regs.PC-m.Bias, int(w.regs.SP()-at)/8)
}

// restorePopped is what restores a register of the caller whose place, below the stack pointer, cannot be read.
func (w *Walker) restorePopped(reg uint8, at Addr) {
	if from, ok := w.popped(at); ok && from == reg && w.regs.Known>>reg&1 != 0 {
		w.next.Set(reg, w.regs.Val[reg%NumRegs])
		return
	}
	w.next.Known &^= 1 << reg
}
