// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"encoding/binary"

	"prywalk/frames"
)

// # Registers
//
// The kernel's sets of general registers (NT_PRSTATUS), of ptrace(2) and of core files.

// Sizes of the sets, in bytes: struct user_regs_struct (arch/x86/include/asm/user_64.h), struct user_pt_regs
// (arch/arm64/include/uapi/asm/ptrace.h: x0–x30, sp, pc, pstate).
const (
	LenRegsX86   = 27 * 8
	LenRegsARM64 = 34 * 8
)

// Words of the sets.
const (
	x86OrigRax = 15
	x86Rip     = 16
	x86FsBase  = 21
	aarch64PC  = 32
)

// x86Order has the words by DWARF number (System V ABI for x86-64, figure 3.36).
var x86Order = [16]uint8{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0}

// RegsX86 returns x86-64's registers.
func RegsX86(w *[LenRegsX86 / 8]uint64) frames.Regs {
	r := frames.Regs{Arch: frames.X86_64, PC: w[x86Rip], TLS: w[x86FsBase], Known: 1<<16 - 1}
	for reg, place := range x86Order {
		r.Val[reg] = w[place]
	}
	return r
}

// RegsARM64 returns arm64's registers, without TLS and PACMask, which are in other sets.
func RegsARM64(w *[LenRegsARM64 / 8]uint64) frames.Regs {
	r := frames.Regs{Arch: frames.ARM64, PC: w[aarch64PC], Known: 1<<32 - 1}
	copy(r.Val[:], w[:]) // x0–x30, sp
	return r
}

// DecodeRegsX86 decodes x86-64's registers. nr is the system call, negative without one; ok is false if b is too short.
func DecodeRegsX86(b []byte, out *frames.Regs) (nr int64, ok bool) {
	var w [LenRegsX86 / 8]uint64
	if !words(w[:], b) {
		return -1, false
	}
	*out = RegsX86(&w)
	return int64(w[x86OrigRax]), true
}

// DecodeRegsARM64 decodes arm64's registers; false if b is too short.
func DecodeRegsARM64(b []byte, out *frames.Regs) bool {
	var w [LenRegsARM64 / 8]uint64
	if !words(w[:], b) {
		return false
	}
	*out = RegsARM64(&w)
	return true
}

func words(w []uint64, b []byte) bool {
	if len(b) < 8*len(w) {
		return false
	}
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return true
}
