// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"runtime"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// Registers by perf's numbers (arch/{x86,arm64}/include/uapi/asm/perf_regs.h).
const (
	// x86Mask: ax, bx, cx, dx, si, di, bp, sp, ip, and r8 to r15.
	x86Mask = 1<<9 - 1 | 0xff<<16
	x86Regs = 17
	// arm64Mask: x0 to x30, sp, pc.
	arm64Mask = 1<<33 - 1
	arm64Regs = 33
)

var regMask, numRegs = hostRegs(runtime.GOARCH)

func hostRegs(arch string) (mask uint64, n int) {
	if arch == "arm64" {
		return arm64Mask, arm64Regs
	}
	return x86Mask, x86Regs
}

// x86Order has the DWARF numbers of ax to sp, then r8 to r15.
var x86Order = [...]uint8{
	frames.X86RAX, frames.X86RBX, frames.X86RCX, frames.X86RDX, frames.X86RSI, frames.X86RDI, frames.X86RBP, frames.X86RSP,
	8, 9, 10, 11, 12, 13, 14, 15,
}

func setRegs(to *frames.Regs, b []byte) {
	if numRegs == arm64Regs {
		setARM64(to, b)
		return
	}
	setX86(to, b)
}

func setX86(to *frames.Regs, b []byte) {
	*to = frames.Regs{Arch: frames.X86_64, PC: word(b[8*8:])}
	for i, reg := range x86Order {
		if i >= 8 {
			i++
		}
		to.Set(reg, word(b[8*i:]))
	}
}

func setARM64(to *frames.Regs, b []byte) {
	*to = frames.Regs{Arch: frames.ARM64, PC: word(b[8*32:]), PACMask: procmem.UserPACMask}
	for i := range uint8(32) {
		to.Set(i, word(b[8*int(i):]))
	}
}
