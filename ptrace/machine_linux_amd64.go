// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

const (
	rawRegsLen = procmem.LenRegsX86
	// copiedBelowSP is the red zone (System V ABI for x86-64, §3.2.2).
	copiedBelowSP = 128

	codeSegment32 = 0x23 // __USER32_CS, arch/x86/include/asm/segment.h
	x32Bit        = 1 << 30
)

type procFiles struct {
	buf  [64]byte
	path [48]byte
}

func decodeNative(w *rawRegs) frames.Regs { return procmem.RegsX86((*[27]uint64)(w[:27])) }

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

//go:nosplit
func givesEINTR(w *rawRegs) bool {
	return w[x86Rax] == resultEINTR && int64(w[x86OrigRax]) >= 0
}

// restartTraceMe restarts a PTRACE_TRACEME that gave EPERM because of this tracer: it has done nothing
// (kernel/ptrace.c, ptrace_traceme), and no signal ends it.
//
//go:nosplit
func (r *repairer) restartTraceMe(attachment *Attachment) bool {
	w, res := &r.regs.raw, resultERESTARTNOINTR
	refused := w[x86Rax] == resultEPERM && w[x86OrigRax] == unix.SYS_PTRACE && w[x86Rdi] == unix.PTRACE_TRACEME
	return refused && ptrace(unix.PTRACE_POKEUSR, attachment.tid, x86Rax*8, uintptr(res)) == 0
}

//go:nosplit
func (r *repairer) restart(attachment *Attachment) bool {
	nr := int64(r.regs.raw[x86OrigRax])
	var flags uint64
	switch sendFlagsX86(nr) {
	case 3:
		flags = r.regs.raw[x86Rdx]
	case 4:
		flags = r.regs.raw[x86R10]
	}
	if !restartableX86(nr, flags) ||
		restartsOnSocketsOnly(nr) && !r.files.isOpen(attachment.tid, r.regs.raw[x86Rdi], "socket:[") {
		return false
	}
	res := resultERESTARTNOHAND
	return ptrace(unix.PTRACE_POKEUSR, attachment.tid, x86Rax*8, uintptr(res)) == 0
}

//go:nosplit
func (r *repairer) abortedKind(int) repairKind {
	w := &r.regs.raw
	if int64(w[x86OrigRax]) < 0 || w[x86Rax] < resultMaxErrno {
		return repairNone
	}
	return repairKindX86(&call{
		nr: int64(w[x86OrigRax]), arg0: w[x86Rdi], arg1: w[x86Rsi], arg2: w[x86Rdx], result: w[x86Rax],
	})
}

// restartAborted restarts an aborted call, and returns false if that failed. A call that gave EAGAIN never gives EINTR:
// it is restarted even after a signal handler.
//
//go:nosplit
func (r *repairer) restartAborted(attachment *Attachment) bool {
	res := resultERESTARTNOHAND
	if r.regs.raw[x86Rax] == resultEAGAIN {
		res = resultERESTARTNOINTR
	}
	return ptrace(unix.PTRACE_POKEUSR, attachment.tid, x86Rax*8, uintptr(res)) == 0
}
