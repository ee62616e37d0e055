package ptrace

import "prywalk/frames"

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
