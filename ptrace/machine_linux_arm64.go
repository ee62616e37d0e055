// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

const (
	rawRegsLen = procmem.LenRegsARM64
	// copiedBelowSP has the caller's frame pointer in Go code. AAPCS64 §6.4.5.1 has no red zone.
	copiedBelowSP = 16
)

type procFiles struct {
	buf      [2048]byte
	path     [48]byte
	stopInfo sigInfo
	callInfo syscallInfo
}

func decodeNative(w *rawRegs) frames.Regs { return procmem.RegsARM64((*[34]uint64)(w)) }

// Words of struct user_pt_regs (procmem, userregs.go).
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

//go:nosplit
func givesEINTR(w *rawRegs) bool {
	return w[0] == resultEINTR && restartableARM64(int64(w[armX8]), 0)
}

// restartTraceMe returns false, as no restart is possible: the call's first argument is overwritten.
//
//go:nosplit
func (r *repairer) restartTraceMe(*Attachment) bool { return false }

// restart sets pc back to the svc instruction, and x0, which has the result, to the first argument.
//
// The kernel's own restart comes before the stop (arch/arm64/kernel/signal.c, do_signal): if a handler is to run,
// nothing is done, as EINTR would be lost. If the thread returns from a handler to behind an interrupted call, a
// restart is as if the signal came just before the call, unless the call has its own mask; x0 must then fit the call.
//
//go:nosplit
func (r *repairer) restart(attachment *Attachment) bool {
	nr := int64(r.regs.raw[armX8])
	if attachment.kind == KindSignal && !ignoresSignal(attachment.tid, attachment.signal) ||
		signalsPending(attachment.tid) {
		return false
	}
	var flags uint64
	if arg := sendFlagsARM64(nr); arg > 0 {
		flags = r.regs.raw[arg-1]
	}
	if !restartableARM64(nr, flags) || !followsSVC(attachment.tid, r.regs.raw[armPC]) {
		return false
	}
	asleep := r.sameSleep(attachment, nr)
	m := r.maskState(attachment.tid, nr)
	if m == maskOther && !asleep {
		return false
	}
	arg0, ok := r.firstArgument(attachment, nr, m == maskInCall)
	if !ok {
		arg0, ok = attachment.call.Args[0], asleep
	}
	if !ok {
		return false
	}
	pc, x0 := r.regs.raw[armPC], r.regs.raw[0]
	r.regs.raw[armPC], r.regs.raw[0] = pc-4, arg0
	if setRegSet(attachment.tid, &r.regs.raw, rawRegsLen) != 0 {
		r.regs.raw[armPC], r.regs.raw[0] = pc, x0 // the thread still has these
		return false
	}
	return true
}

// sameSleep reports whether an epoll call is that of [Attachment.SetSleeping]: same place and further arguments, at
// most two runs since.
//
//go:nosplit
func (r *repairer) sameSleep(attachment *Attachment, nr int64) bool {
	was, now := &attachment.call, &r.regs.raw
	if nr != 22 && nr != 441 || !attachment.sleeping || was.Nr != nr || was.SP != now[armSP] || was.PC != now[armPC] {
		return false
	}
	for i := 1; i < len(was.Args); i++ {
		if was.Args[i] != now[i] {
			return false
		}
	}
	n := r.runs(attachment.tid)
	return n == attachment.runs+1 || n == attachment.runs+2
}

// firstArgument returns orig_x0, which the kernel shows only at seccomp stops (arch/arm64/include/asm/syscall.h,
// syscall_get_arguments). Unless inCall, it may be another call's, and must be a descriptor of the right kind.
//
//go:nosplit
func (r *repairer) firstArgument(attachment *Attachment, nr int64, inCall bool) (uint64, bool) {
	fd := descriptorARM64(nr)
	if attachment.kind == KindInterrupt && (inCall || fd != "") && seccompInfo(attachment.tid, &r.files.stopInfo,
		&r.files.callInfo) {
		v := r.files.callInfo.args[0]
		return v, v != resultEINTR && (inCall || r.files.isOpen(attachment.tid, v, fd))
	}
	v, ok := r.argumentOf(attachment.tid, nr)
	return v, ok && (inCall || fd == "" || r.files.isOpen(attachment.tid, v, fd))
}

// callMask says whether a signal mask of the call's own is in effect.
type callMask uint8

const (
	maskNone   callMask = iota // none, or without effect
	maskInCall                 // the thread is in the call
	maskOther                  // possibly one
)

// maskState compares signal masks: in a call with a mask, PTRACE_GETSIGMASK gives the mask to be restored
// (kernel/ptrace.c), SigBlk of /proc/TID/status the call's.
//
//go:nosplit
func (r *repairer) maskState(tid int, nr int64) callMask {
	arg := maskARM64(nr)
	if arg == 0 || r.regs.raw[arg-1] == 0 {
		return maskNone
	}
	text := r.files.text(tid, "/status\x00")
	blocked, ok := parseDigits(text, indexAfter(text, "SigBlk:\t"), 16)
	if !ok {
		return maskOther
	}
	if restored, ok := sigMask(tid); ok && restored != blocked {
		return maskInCall
	}
	if nr == 426 {
		return maskOther
	}
	var own [8]byte
	n, _ := procmem.RawReadVM(tid, r.regs.raw[arg-1], own[:])
	if n == 8 && binary.LittleEndian.Uint64(own[:]) == blocked {
		return maskNone
	}
	return maskOther
}

// argumentOf reads /proc/TID/syscall, for which it sets the forgotten number (NT_ARM_SYSTEM_CALL). Newer kernels
// (Debian 6.1.192) show the result instead.
//
//go:nosplit
func (r *repairer) argumentOf(tid int, nr int64) (uint64, bool) {
	if setSyscall(tid, int32(nr)) != 0 {
		return 0, false
	}
	text := r.files.text(tid, "/syscall\x00")
	if setSyscall(tid, -1) != 0 {
		return 0, false
	}
	// "NUMBER 0xARGUMENT ..."
	if got, ok := parseDigits(text, 0, 10); !ok || int64(got) != nr {
		return 0, false
	}
	arg0, ok := parseDigits(text, indexAfter(text, "0x"), 16)
	return arg0, ok && arg0 != resultEINTR
}

// runs returns the run count, field 3 of schedstat, 0 if unknown.
//
//go:nosplit
func (r *repairer) runs(tid int) uint64 {
	text := r.files.text(tid, "/schedstat\x00")
	at := indexAfter(text, " ")
	if at < 0 {
		return 0
	}
	next := indexAfter(text[at:], " ")
	if next < 0 {
		return 0
	}
	n, _ := parseDigits(text, at+next, 10)
	return n
}

// sendFlagsARM64 returns the number of the argument, from 1, or 0, as does maskARM64.
//
//go:nosplit
func sendFlagsARM64(nr int64) int {
	switch nr {
	case 211:
		return 3
	case 206, 269:
		return 4
	}
	return 0
}

//go:nosplit
func maskARM64(nr int64) int {
	switch nr {
	case 22, 441, 426: // epoll_pwait, epoll_pwait2, io_uring_enter
		return 5
	case 292: // io_pgetevents
		return 6
	}
	return 0
}

// descriptorARM64 returns the prefix of the first argument's /proc link, "" if it is no descriptor.
//
//go:nosplit
func descriptorARM64(nr int64) string {
	switch nr {
	case 22, 441:
		return "anon_inode:[eventpoll]"
	case 426:
		return "anon_inode:[io_uring]"
	case 63, 64, 65, 66, 202, 206, 207, 211, 212, 242, 243, 269:
		return "socket:["
	}
	return ""
}

// followsSVC reports whether the instruction before pc is "svc #0" (Arm ARM, C6.2 SVC).
//
//go:nosplit
func followsSVC(tid int, pc uint64) bool {
	var insn [4]byte
	n, _ := procmem.RawReadVM(tid, pc-4, insn[:])
	return n == 4 && binary.LittleEndian.Uint32(insn[:]) == 0xd4000001
}

// abortedKind never returns a kind with a restart, as the first argument is overwritten.
//
//go:nosplit
func (r *repairer) abortedKind(tid int) repairKind {
	w := &r.regs.raw
	nr := int64(w[armX8])
	switch {
	case w[0] == resultEINTR && (nr == 47 || nr == 225 || nr == 29): // fallocate, swapoff, ioctl
	case w[0] == resultEAGAIN && nr == 280: // bpf
	default:
		return repairNone
	}
	if !followsSVC(tid, w[armPC]) {
		return repairNone // the program's own values
	}
	return repairNever
}

//go:nosplit
func (r *repairer) restartAborted(*Attachment) bool { return false }
