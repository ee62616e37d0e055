// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"prywalk/frames"
	"prywalk/internal/userregs"
)

const (
	rawRegsLen = userregs.LenX86
	// the red zone (System V ABI for x86-64, §3.2.2)
	copiedBelowSP = 128

	codeSegment32 = 0x23 // __USER32_CS, arch/x86/include/asm/segment.h
	x32Bit        = 1 << 30
)

type procFiles struct {
	buf  [64]byte
	path [48]byte
}

func decodeNative(w *rawRegs) frames.Regs { return userregs.X86((*[27]uint64)(w[:27])) }

//go:nosplit
func rawSP(w *rawRegs) uint64 { return w[x86Rsp] }

func rawSyscall(w *rawRegs) (bool, int64) {
	nr := int64(w[x86OrigRax])
	return nr >= 0, nr
}

func not64Bit(w *rawRegs) bool {
	nr := int64(w[x86OrigRax])
	return w[x86Cs] == codeSegment32 || nr >= 0 && nr&x32Bit != 0
}

//go:nosplit
func (r *registers) readArchRegs(int) {}
