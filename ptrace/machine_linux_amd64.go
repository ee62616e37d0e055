// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"prywalk/frames"

	"golang.org/x/sys/unix"
)

const (
	rawRegsLen = RegsLenX86
	// redZone is what a leaf function may use below the stack pointer (System V
	// ABI for x86-64, §3.2.2).
	redZone = 128

	codeSegment32 = 0x23 // __USER32_CS, arch/x86/include/asm/segment.h
	x32Bit        = 1 << 30
)

// scratch is room for what is read of /proc while a thread is stopped.
type scratch struct {
	schedBuf [96]byte
	procBuf  [64]byte
	procPath [48]byte
}

func decodeNative(w *rawRegs) frames.Regs { return regsX86((*[27]uint64)(w[:27])) }

//go:nosplit
func rawSP(w *rawRegs) uint64 { return w[x86Rsp] }

// rawSyscall tells whether the thread was in a system call, and which.
func rawSyscall(w *rawRegs) (bool, int64) {
	nr := int64(w[x86OrigRax])
	return nr >= 0, nr
}

// foreign reports 32-bit code, and system calls of the x32 ABI.
func foreign(w *rawRegs) bool {
	nr := int64(w[x86OrigRax])
	return w[x86Cs] == codeSegment32 || nr >= 0 && nr&x32Bit != 0
}

// moreRegisters: the general registers hold all there is.
//
//go:nosplit
func (c *Controller) moreRegisters(int) {}

// broken reports whether a system call is about to return EINTR.
//
//go:nosplit
func broken(w *rawRegs) bool {
	return w[x86Rax] == resultEINTR && int64(w[x86OrigRax]) >= 0
}

// refusedTraceMe reports whether the thread is about to return from
// ptrace(PTRACE_TRACEME) with EPERM: it is traced, by this look.
//
//go:nosplit
func refusedTraceMe(w *rawRegs) bool {
	return w[x86Rax] == resultEPERM && w[x86OrigRax] == unix.SYS_PTRACE && w[x86Rdi] == unix.PTRACE_TRACEME
}

// traceMe makes the kernel begin that call again when the thread has been let go. The
// refused call has done nothing (kernel/ptrace.c, ptrace_traceme), and no signal ends
// it, so that it begins again after a handler too (ERESTARTNOINTR). If it is refused
// for another reason, it is refused again.
//
//go:nosplit
func (c *Controller) traceMe(l *Look) bool {
	res := resultAgain
	return ptrace(unix.PTRACE_POKEUSR, l.tid, x86Rax*8, uintptr(res)) == 0
}

// restart writes the result of the broken call.
//
//go:nosplit
func (c *Controller) restart(l *Look) bool {
	nr := int64(c.raw[x86OrigRax])
	var flags uint64
	switch sendFlagsX86(nr) {
	case 3:
		flags = c.raw[x86Rdx]
	case 4:
		flags = c.raw[x86R10]
	}
	if !restartableX86(nr, flags) || onSockets(nr) && !c.isOpen(l.tid, c.raw[x86Rdi], "socket:[") {
		return false
	}
	res := resultRestart
	return ptrace(unix.PTRACE_POKEUSR, l.tid, x86Rax*8, uintptr(res)) == 0
}

// neededRepair says what is to be done about the call that the thread comes from, if it has given up.
//
//go:nosplit
func (c *Controller) neededRepair(int) repairKind {
	w := &c.raw
	if int64(w[x86OrigRax]) < 0 || w[x86Rax] < resultLowest {
		return repairNone
	}
	return repairKindX86(&call{
		nr: int64(w[x86OrigRax]), arg0: w[x86Rdi], arg1: w[x86Rsi], arg2: w[x86Rdx], result: w[x86Rax],
	})
}

// beginAgain makes the kernel begin the call again. One that gave EAGAIN never gives EINTR: it begins again after a
// signal's handler too, as if that had come just before.
//
//go:nosplit
func (c *Controller) beginAgain(l *Look) bool {
	res := resultRestart
	if c.raw[x86Rax] == resultEAGAIN {
		res = resultAgain
	}
	return ptrace(unix.PTRACE_POKEUSR, l.tid, x86Rax*8, uintptr(res)) == 0
}
