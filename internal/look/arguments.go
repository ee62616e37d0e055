package look

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
)

// The registers that carry a system call's arguments, by DWARF number, where the kernel leaves them alone. On x86-64:
// rdi, rsi, rdx, r10, r8, r9 (System V ABI, §A.2.1). On arm64: x1 to x5, while x0 takes the result.
var (
	argumentsX86   = [6]uint8{frames.X86RDI, frames.X86RSI, frames.X86RDX, 10, 8, 9}
	argumentsARM64 = [6]uint8{frames.NoReg, 1, 2, 3, 4, 5}
)

// setArguments makes known what /proc shows of the registers of a thread that
// sleeps in a system call. They are rarely needed, but vfork keeps its return
// address in one.
func setArguments(regs *frames.Regs, call *procmem.SyscallInfo) {
	where := &argumentsX86
	if regs.Arch == frames.AArch64 {
		where = &argumentsARM64
	}
	for i, reg := range where {
		regs.Set(reg, call.Args[i])
	}
}

// ArgumentRegisters gives the registers that carry a system call's arguments, by DWARF number; frames.NoReg stands for
// one that the kernel has overwritten.
func ArgumentRegisters(arch frames.Arch) [6]uint8 {
	if arch == frames.AArch64 {
		return argumentsARM64
	}
	return argumentsX86
}
