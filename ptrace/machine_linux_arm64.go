// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"prywalk/frames"
	"prywalk/internal/userregs"
)

const (
	rawRegsLen = userregs.LenARM64
	// the caller's frame pointer in Go code; AAPCS64 §6.4.5.1 has no red zone
	copiedBelowSP = 16
)

type procFiles struct {
	buf      [2048]byte
	path     [48]byte
	stopInfo sigInfo
	callInfo syscallInfo
}

func decodeNative(w *rawRegs) frames.Regs { return userregs.ARM64((*[34]uint64)(w)) }

// Words of struct user_pt_regs (package userregs).
const (
	armX8 = 8
	armSP = 31
	armPC = 32
)

//go:nosplit
func rawSP(w *rawRegs) uint64 { return w[armSP] }

// rawSyscall returns −1: the kernel has forgotten the number (arch/arm64/kernel/signal.c, do_signal).
func rawSyscall(*rawRegs) (bool, int64) { return false, -1 }

// not64Bit is always false: 32-bit tasks have a shorter register set ([registers.complete]).
func not64Bit(*rawRegs) bool { return false }

// readArchRegs reads the thread pointer, and once the pointer authentication mask, which depends only on the size of
// the address space.
//
//go:nosplit
func (r *registers) readArchRegs(tid int) {
	var w rawRegs
	r.tls = 0
	if n, e := getRegSet(tid, regSetTLS, &w); e == 0 && n >= 8 {
		r.tls = w[0]
	}
	if r.pacMask != 0 {
		return
	}
	if n, e := getRegSet(tid, regSetPAC, &w); e == 0 && n >= 16 {
		r.pacMask = w[1] // struct user_pac_mask: data_mask, insn_mask
	}
}

// indexAfter returns the offset behind what, or −1.
//
//go:nosplit
func indexAfter(text []byte, what string) int {
	for i := 0; i+len(what) <= len(text); i++ {
		n := 0
		for n < len(what) && text[i+n] == what[n] {
			n++
		}
		if n == len(what) {
			return i + n
		}
	}
	return -1
}

//go:nosplit
func parseDigits(text []byte, at int, base uint64) (v uint64, ok bool) {
	for at >= 0 && at < len(text) {
		d := uint64(text[at])
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case base == 16 && d >= 'a' && d <= 'f':
			d -= 'a' - 10
		default:
			return v, ok
		}
		v, ok = v*base+d, true
		at++
	}
	return v, ok
}
