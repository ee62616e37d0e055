// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/binary"

	"prywalk/frames"
)

// gregsX86 is the size of user_regs_struct (arch/x86/include/asm/user_64.h).
const gregsX86 = 27 * 8

// orderX86 maps a DWARF register to its word in user_regs_struct (System V ABI, figure 3.36).
var orderX86 = [16]uint8{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0}

// regsX86 reads a thread's pr_reg. nr is orig_rax, negative without a system call. ok is false if b is too short.
func regsX86(b []byte, out *frames.Regs) (nr int64, ok bool) {
	if len(b) < gregsX86 {
		return -1, false
	}
	word := func(i uint8) uint64 { return binary.LittleEndian.Uint64(b[8*int(i):]) }
	*out = frames.Regs{Arch: frames.X86_64, PC: word(16), TLS: word(21), Known: 1<<16 - 1}
	for reg, place := range orderX86 {
		out.Val[reg] = word(place)
	}
	return int64(word(15)), true
}
