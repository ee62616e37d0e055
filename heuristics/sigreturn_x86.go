// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// trampolineX86: mov $15, %rax or %eax (rt_sigreturn, arch/x86/entry/syscalls/syscall_64.tbl); syscall. rsp points to
// the ucontext, with the registers at 40 (r8–r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip:
// arch/x86/include/uapi/asm/sigcontext.h).
var trampolineX86 = trampoline{
	sigreturn: [][]byte{
		{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05},
		{0xb8, 15, 0, 0, 0, 0x0f, 0x05},
	},
	syscallLen: 2,
	signalRow: rowOfSignal(frames.X86RSP, []int64{
		144, 136, 152, 128, 112, 104, 120, 160, // rax rdx rcx rbx rsi rdi rbp rsp
		40, 48, 56, 64, 72, 80, 88, 96,
	}, 168),
}
