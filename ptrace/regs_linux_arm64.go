package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
)

const (
	rawRegsLen = RegsLenAArch64
	redZone    = 0 // AAPCS64 §6.4.5.1: nothing below sp may be used
)

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

// broken reports whether a system call of those that can be restarted may be
// about to return EINTR.
//
//go:nosplit
func broken(w *rawRegs) bool {
	return w[0] == resultEINTR && restartableAArch64(int64(w[armX8]), 0)
}

// restart sets the thread back onto its svc instruction. The kernel has put the
// result in the place of the first argument, so that must be known from before;
// and it has done its own part of restarting before the stop, so a signal's
// handler that is about to run would not give EINTR: then nothing is changed.
//
//go:nosplit
func (c *Controller) restart(l *Look) bool {
	nr := int64(c.raw[armX8])
	if !l.sleeping || l.nr != nr || l.kind != KindInterrupt || signalsPending(l.tid) {
		return false
	}
	var flags uint64
	if arg := sendFlagsAArch64(nr); arg > 0 {
		flags = c.raw[arg-1]
	}
	var insn [4]byte
	if !restartableAArch64(nr, flags) || readVM(l.tid, c.raw[armPC]-4, insn[:]) != 4 ||
		binary.LittleEndian.Uint32(insn[:]) != svcInstruction {
		return false
	}
	c.raw[armPC] -= 4
	c.raw[0] = l.arg0
	return setRegSet(l.tid, &c.raw, rawRegsLen) == 0
}

// sendFlagsAArch64 tells which argument of a system call holds the flags of a
// send, from 1 up (x0 is the first), 0 if none.
//
//go:nosplit
func sendFlagsAArch64(nr int64) int {
	switch nr {
	case 211:
		return 3
	case 206, 269:
		return 4
	}
	return 0
}

// svcInstruction is "svc #0", the system call (Arm ARM, C6.2 SVC).
const svcInstruction = 0xd4000001
