// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
)

const (
	rawRegsLen = RegsLenAArch64
	// redZone: nothing below the stack pointer may be used (AAPCS64 §6.4.5.1), but
	// Go saves the frame pointer in the word there.
	redZone = 16
)

// scratch is room for what is read of /proc while a thread is stopped; a restart
// reads more of it than a look.
type scratch struct {
	schedBuf [96]byte
	procBuf  [2048]byte
	procPath [48]byte
	stopInfo sigInfo     // of a stop that is to look like another
	callInfo syscallInfo // what the kernel then tells
}

func decodeNative(w *rawRegs) frames.Regs { return regsAArch64((*[34]uint64)(w)) }

//go:nosplit
func rawSP(w *rawRegs) uint64 { return w[armSP] }

// rawSyscall: the kernel forgets the number before it stops for a tracer
// (arch/arm64/kernel/signal.c, do_signal).
func rawSyscall(*rawRegs) (bool, int64) { return false, -1 }

// foreign: 32-bit tasks show in the length of the register set.
func foreign(*rawRegs) bool { return false }

// moreRegisters reads the thread pointer, and once the pointer authentication
// mask, which is the same for all processes of a kernel with one size of address
// space.
//
//go:nosplit
func (c *Controller) moreRegisters(tid int) {
	var w rawRegs
	c.tls = 0
	if n, e := getRegSet(tid, regSetTLS, &w); e == 0 && n >= 8 {
		c.tls = w[0]
	}
	if c.pacMask != 0 {
		return
	}
	if n, e := getRegSet(tid, regSetPAC, &w); e == 0 && n >= 16 {
		c.pacMask = w[1] // struct user_pac_mask: data_mask, insn_mask
	}
}

// neededRepair: what a call needs to be begun again is mostly lost, as the result lies where its first argument was.
// So a call that gave up is known by its number and result, and gives the error to the program.
//
//go:nosplit
func (c *Controller) neededRepair(tid int) repairKind {
	w := &c.raw
	nr := int64(w[armX8])
	switch {
	case w[0] == resultEINTR && (nr == 47 || nr == 225 || nr == 29): // fallocate, swapoff, ioctl
	case w[0] == resultEAGAIN && nr == 280: // bpf
	default:
		return repairNone
	}
	var insn [4]byte
	if readVM(tid, w[armPC]-4, insn[:]) != 4 || binary.LittleEndian.Uint32(insn[:]) != svcInstruction {
		return repairNone // these are a program's own values
	}
	return repairNever
}

//go:nosplit
func (c *Controller) beginAgain(*Look) bool { return false }

// after gives the place in text behind what, −1 if it is not there.
//
//go:nosplit
func after(text []byte, what string) int {
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

// digits reads the number that begins at a place.
//
//go:nosplit
func digits(text []byte, at int, base uint64) (v uint64, ok bool) {
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
