// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"

	"prywalk/frames"
)

func (p *patterns) sigreturn(q frames.Query) (frames.Rule, *frames.Row, bool) {
	for _, form := range p.abi.sigreturnForms {
		for _, back := range [...]int{0, len(form) - len(p.abi.syscall)} { // q.PC is at the first or second instruction
			if back > 0 && (q.AfterCall || q.PC < uint64(back)) {
				continue
			}
			if bytes.HasPrefix(p.code(q.PC-uint64(back)), form) {
				row := p.abi.signalRow
				r := frames.Rule{CFAReg: row.CFAReg, Flags: frames.FlagExactPC, Method: frames.MethodHeuristic}
				return r, row, true
			}
		}
	}
	return frames.Rule{}, nil, false
}

// SignalRow returns the row of the kernel's signal trampoline. Precondition: arch is not [frames.ArchUnknown].
func SignalRow(arch frames.Arch) *frames.Row { return abis[arch].signalRow }

func rowOfSignal(sp uint8, regs []int64, pc int64) *frames.Row {
	row := &frames.Row{CFAReg: sp, CFAOff: regs[sp], CFADeref: true, RA: frames.RegRule{Kind: frames.RuleRegOffset,
		Reg: sp, Off: pc}}
	for reg, off := range regs {
		if reg != int(sp) {
			row.Regs[reg] = frames.RegRule{Kind: frames.RuleRegOffset, Reg: sp, Off: off}
		}
	}
	return row
}

// sigreturnX86: mov $15, %rax or %eax (rt_sigreturn, arch/x86/entry/syscalls/syscall_64.tbl); syscall.
var sigreturnX86 = [][]byte{
	{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05},
	{0xb8, 15, 0, 0, 0, 0x0f, 0x05},
}

// signalRowX86: rsp points to the ucontext, with the registers at 40 (arch/x86/include/uapi/asm/sigcontext.h): r8–r15,
// rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
var signalRowX86 = rowOfSignal(frames.X86RSP, []int64{
	144, 136, 152, 128, 112, 104, 120, 160, // rax rdx rcx rbx rsi rdi rbp rsp
	40, 48, 56, 64, 72, 80, 88, 96,
}, 168)

// sigcontextARM64 is the offset of x0 from sp: behind siginfo (128 bytes), the ucontext's head (176) and the fault
// address (arch/arm64/kernel/signal.c, rt_sigframe; uapi/asm/sigcontext.h).
const sigcontextARM64 = 128 + 176 + 8

// sigreturnARM64: mov x8, #139 (rt_sigreturn, include/uapi/asm-generic/unistd.h); svc #0.
var sigreturnARM64 = [][]byte{{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}}

func signalRowARM64() *frames.Row {
	regs := make([]int64, frames.NumRegs)
	for i := range regs {
		regs[i] = sigcontextARM64 + 8*int64(i)
	}
	return rowOfSignal(frames.ARM64SP, regs, sigcontextARM64+8*frames.NumRegs)
}
