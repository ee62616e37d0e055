package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
)

// RegsLenX86 is the size of the general registers of x86-64, in bytes.
const RegsLenX86 = 27 * 8

// Places in the kernel's struct user_regs_struct (arch/x86/include/asm/user_64.h),
// in words.
const (
	x86R10     = 7
	x86Rax     = 10
	x86Rdx     = 12
	x86Rsi     = 13
	x86Rdi     = 14
	x86OrigRax = 15
	x86Rip     = 16
	x86Cs      = 17
	x86Rsp     = 19
	x86FsBase  = 21
)

// x86Order gives the place of each DWARF register (rax, rdx, rcx, rbx, rsi, rdi,
// rbp, rsp, r8–r15; System V ABI for x86-64, figure 3.36).
var x86Order = [16]uint8{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0}

// DecodeRegsX86 reads the general registers of x86-64 as PTRACE_GETREGSET and the
// NT_PRSTATUS notes of cores hold them (pr_reg), and gives the number of the system
// call that the thread was in, negative if none. False if b is too short.
func DecodeRegsX86(b []byte, out *frames.Regs) (nr int64, ok bool) {
	if len(b) < RegsLenX86 {
		return -1, false
	}
	var w [27]uint64
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[i*8:])
	}
	*out = regsX86(&w)
	return int64(w[x86OrigRax]), true
}

func regsX86(w *[27]uint64) frames.Regs {
	r := frames.Regs{Arch: frames.X86_64, PC: w[x86Rip], TLS: w[x86FsBase], Known: 1<<16 - 1}
	for reg, place := range x86Order {
		r.Val[reg] = w[place]
	}
	return r
}
