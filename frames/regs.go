// SPDX-License-Identifier: Apache-2.0

package frames

import "math/bits"

// NumRegs is the number of registers of a [Regs]: rax to r15 (0–15), or x0 to x30 and sp (0–31).
const NumRegs = 32

// Regs is a register set, by DWARF numbers.
type Regs struct {
	PC      Addr
	Val     [NumRegs]uint64
	Known   uint64 // a bit for each valid Val
	PACMask uint64 // bits of pointer authentication codes in return addresses (arm64)
	TLS     uint64 // thread pointer (fs_base, tpidr_el0), 0 if unknown
	Arch    Arch
}

// Get returns false if the register is unknown, or the number out of range.
func (r *Regs) Get(reg uint8) (uint64, bool) {
	if reg >= NumRegs {
		return 0, false
	}
	return r.Val[reg], r.Known&(1<<reg) != 0
}

// Set makes a register known; numbers out of range are ignored.
func (r *Regs) Set(reg uint8, v uint64) {
	if reg < NumRegs {
		r.Val[reg] = v
		r.Known |= 1 << reg
	}
}

// SP returns the stack pointer, or a lower bound if it is not Known.
func (r *Regs) SP() Addr { return r.Val[r.Arch.SP()%NumRegs] }

func (r *Regs) fp() Addr {
	if v, ok := r.Get(r.Arch.info().fp); ok {
		return v
	}
	return 0
}

// callerRegs are a caller's registers by the few that differ from its callee's.
type callerRegs struct {
	PC    Addr
	Known uint64 // in the caller, a bit each
	set   uint64 // a bit for each valid Val; the others are the callee's
	Val   [NumRegs]uint64
}

// begin drops all values. known are the registers that the callee keeps.
func (c *callerRegs) begin(known uint64) { c.Known, c.set = known, 0 }

// Set is [Regs.Set].
func (c *callerRegs) Set(reg uint8, v uint64) {
	if reg < NumRegs {
		c.Val[reg] = v
		c.Known |= 1 << reg
		c.set |= 1 << reg
	}
}

func (c *callerRegs) storeTo(regs *Regs) {
	regs.PC, regs.Known = c.PC, c.Known
	for left := c.set; left != 0; left &= left - 1 {
		reg := bits.TrailingZeros64(left) % NumRegs
		regs.Val[reg] = c.Val[reg]
	}
}
