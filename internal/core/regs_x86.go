// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/binary"

	"prywalk/frames"
)

// gregsX86 is the length of the general registers in a core of x86-64, in bytes: the
// kernel's struct user_regs_struct (arch/x86/include/asm/user_64.h).
const gregsX86 = 27 * 8

// orderX86 gives the place, in words, of each DWARF register (System V ABI for
// x86-64, figure 3.36) in struct user_regs_struct.
var orderX86 = [16]uint8{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0}

// regsX86 reads pr_reg of a thread, and gives the number of the system call that
// it was in (orig_rax), negative if none. False if b is too short.
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
