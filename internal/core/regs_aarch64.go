// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/binary"

	"prywalk/frames"
)

// gregsAArch64 is the size of user_pt_regs (arch/arm64/include/uapi/asm/ptrace.h): x0–x30, sp, pc, pstate.
const gregsAArch64 = 34 * 8

// regsAArch64 reads a thread's pr_reg; false if b is too short.
func regsAArch64(b []byte, out *frames.Regs) bool {
	if len(b) < gregsAArch64 {
		return false
	}
	*out = frames.Regs{Arch: frames.AArch64, PC: binary.LittleEndian.Uint64(b[8*32:]), Known: 1<<32 - 1}
	for i := range out.Val {
		out.Val[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return true
}

// Notes of owner LINUX of an arm64 thread (include/uapi/linux/elf.h).
const (
	noteARMTLS     = 0x401 // tpidr_el0
	noteARMSyscall = 0x404 // number; −1: none
	noteARMPAC     = 0x406 // struct user_pac_mask: data_mask, insn_mask
)

func (t *Thread) noteAArch64(kind uint32, b []byte) {
	switch {
	case kind == noteARMTLS && len(b) >= 8:
		t.Regs.TLS = binary.LittleEndian.Uint64(b)
	case kind == noteARMSyscall && len(b) >= 4:
		t.Syscall = int64(int32(binary.LittleEndian.Uint32(b)))
	case kind == noteARMPAC && len(b) >= 16:
		t.Regs.PACMask = binary.LittleEndian.Uint64(b[8:])
	}
}
