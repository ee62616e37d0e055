// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
)

// DWARF numbers (System V ABI §A.2.1); arm64's x0 takes the result
var (
	argumentsX86   = [6]uint8{frames.X86RDI, frames.X86RSI, frames.X86RDX, 10, 8, 9}
	argumentsARM64 = [6]uint8{frames.NoReg, 1, 2, 3, 4, 5}
)

// The C library's vfork keeps its return address in an argument register.
func setArguments(regs *frames.Regs, call *procmem.SyscallInfo) {
	where := &argumentsX86
	if regs.Arch == frames.ARM64 {
		where = &argumentsARM64
	}
	for i, reg := range where {
		regs.Set(reg, call.Args[i])
	}
}

// ArgumentRegisters returns DWARF numbers, frames.NoReg for an overwritten register.
func ArgumentRegisters(arch frames.Arch) [6]uint8 {
	if arch == frames.ARM64 {
		return argumentsARM64
	}
	return argumentsX86
}
