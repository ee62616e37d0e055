// SPDX-License-Identifier: Apache-2.0

package frames

// NumRegs is the number of registers that a [Regs] holds, by DWARF number: rax
// to r15 (0–15) on x86-64, x0 to x30 and sp (0–31) on arm64.
const NumRegs = 32

// Regs is a register set, whole or in part. A look that did not stop its thread
// knows only the stack pointer and the program counter; Known says which
// registers hold a value.
type Regs struct {
	// PC is the program counter. It is always known.
	PC Addr
	// Val holds the general registers by DWARF number.
	Val [NumRegs]uint64
	// Known has a bit for each DWARF number whose Val is valid.
	Known uint64
	// PACMask has the bits of a code pointer that hold a pointer
	// authentication code; they are cleared from return addresses (arm64).
	PACMask uint64
	// TLS is the thread pointer (fs_base, tpidr_el0), zero if not known.
	TLS uint64
	// Arch is the architecture that Val is laid out for.
	Arch Arch
}

// Get gives a register's value, and whether it is known. Numbers out of range
// are not known.
func (r *Regs) Get(reg uint8) (uint64, bool) {
	if reg >= NumRegs {
		return 0, false
	}
	return r.Val[reg], r.Known&(1<<reg) != 0
}

// Set gives a register a known value. Numbers out of range are ignored.
func (r *Regs) Set(reg uint8, v uint64) {
	if reg < NumRegs {
		r.Val[reg] = v
		r.Known |= 1 << reg
	}
}

// SP gives the stack pointer; where Known lacks it, what it is not below.
func (r *Regs) SP() Addr { return r.Val[r.Arch.SP()%NumRegs] }

// fp gives the frame pointer register, 0 if it is not known.
func (r *Regs) fp() Addr {
	v, ok := r.Get(r.Arch.info().fp)
	if !ok {
		return 0
	}
	return v
}
