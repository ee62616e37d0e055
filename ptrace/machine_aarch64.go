// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
)

// RegsLenAArch64 is the size of arm64's general registers, in bytes.
const RegsLenAArch64 = 34 * 8

// Words of struct user_pt_regs (arch/arm64/include/uapi/asm/ptrace.h).
const (
	armX8 = 8
	armSP = 31
	armPC = 32
)

// DecodeRegsAArch64 decodes arm64's general registers (NT_PRSTATUS); false if b is too short.
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

// Numbers: include/uapi/asm-generic/unistd.h.
//
//go:nosplit
func restartableAArch64(nr int64, flags uint64) bool {
	switch nr {
	case 22, 441: // epoll_pwait, epoll_pwait2
		return true
	case 193, 192: // semop, semtimedop
		return true
	case 137: // rt_sigtimedwait
		return true
	case 4, 292: // io_getevents, io_pgetevents
		return true
	case 426: // io_uring_enter that has submitted nothing
		return true
	case 63, 65, 207, 212, 243: // read, readv, recvfrom, recvmsg, recvmmsg
		return true
	case 202, 242: // accept, accept4
		return true
	case 64, 66: // write, writev
		return true
	case 206, 211, 269: // sendto, sendmsg, sendmmsg
		return flags&msgFastOpen == 0
	}
	return false
}
