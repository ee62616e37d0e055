// SPDX-License-Identifier: Apache-2.0

package core

import "encoding/binary"

// Notes of owner LINUX of an arm64 thread (include/uapi/linux/elf.h).
const (
	noteARMTLS     = 0x401 // tpidr_el0
	noteARMSyscall = 0x404 // number; −1: none
	noteARMPAC     = 0x406 // struct user_pac_mask: data_mask, insn_mask
)

func (t *Thread) noteARM64(kind uint32, b []byte) {
	switch {
	case kind == noteARMTLS && len(b) >= 8:
		t.Regs.TLS = binary.LittleEndian.Uint64(b)
	case kind == noteARMSyscall && len(b) >= 4:
		t.Syscall = int64(int32(binary.LittleEndian.Uint32(b)))
	case kind == noteARMPAC && len(b) >= 16:
		t.Regs.PACMask = binary.LittleEndian.Uint64(b[8:])
	}
}
