package heuristics

import "prywalk/frames"

// sigreturnCodeAArch64: mov x8, #139; svc #0. The number is that of rt_sigreturn
// (include/uapi/asm-generic/unistd.h).
var sigreturnCodeAArch64 = [][]byte{{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}}

// sigcontextAArch64 is where x0 lies above the stack pointer: behind the siginfo (128
// bytes), the head of the ucontext (176) and the fault's address
// (arch/arm64/kernel/signal.c, rt_sigframe; uapi/asm/sigcontext.h).
const sigcontextAArch64 = 128 + 176 + 8

// sigreturnAArch64: x0 to x30, sp and pc lie one after the other.
var sigreturnAArch64 = func() *frames.Row {
	regs := make([]int64, frames.NumRegs)
	for i := range regs {
		regs[i] = sigcontextAArch64 + 8*int64(i)
	}
	return signalRow(frames.ARM64SP, regs, sigcontextAArch64+8*frames.NumRegs)
}()
