// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// sigcontextA64 is the offset of x0 from sp: behind siginfo (128 bytes), the ucontext's head (176) and the fault
// address (arch/arm64/kernel/signal.c, rt_sigframe; uapi/asm/sigcontext.h).
const sigcontextA64 = 128 + 176 + 8

// trampolineA64: mov x8, #139 (rt_sigreturn, include/uapi/asm-generic/unistd.h); svc #0.
var trampolineA64 = trampoline{
	sigreturn:  [][]byte{{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}},
	syscallLen: 4,
	signalRow:  signalRowA64(),
}

// signalRowA64: x0–x30, sp and pc are adjacent.
func signalRowA64() *frames.Row {
	regs := make([]int64, frames.NumRegs)
	for i := range regs {
		regs[i] = sigcontextA64 + 8*int64(i)
	}
	return rowOfSignal(frames.ARM64SP, regs, sigcontextA64+8*frames.NumRegs)
}
