package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
)

// RegsLenAArch64 is the size of the general registers of arm64, in bytes.
const RegsLenAArch64 = 34 * 8

// Places in the kernel's struct user_pt_regs (arch/arm64/include/uapi/asm/ptrace.h),
// in words; x0 to x30 come first.
const (
	armX8 = 8
	armSP = 31
	armPC = 32
)

// DecodeRegsAArch64 reads the general registers of arm64 as PTRACE_GETREGSET and
// the NT_PRSTATUS notes of cores hold them (pr_reg). False if b is too short.
func DecodeRegsAArch64(b []byte, out *frames.Regs) bool {
	if len(b) < RegsLenAArch64 {
		return false
	}
	var w [34]uint64
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[i*8:])
	}
	*out = regsAArch64(&w)
	return true
}

func regsAArch64(w *[34]uint64) frames.Regs {
	r := frames.Regs{Arch: frames.AArch64, PC: w[armPC], Known: 1<<32 - 1}
	copy(r.Val[:], w[:armSP+1])
	return r
}
