// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// broken reports whether a system call of those that can be restarted may be
// about to return EINTR.
//
//go:nosplit
func broken(w *rawRegs) bool {
	return w[0] == resultEINTR && restartableAArch64(int64(w[armX8]), 0)
}

// refusedTraceMe: the kernel has overwritten the argument that says so.
//
//go:nosplit
func refusedTraceMe(*rawRegs) bool { return false }

//go:nosplit
func (c *Controller) traceMe(*Look) bool { return false }

// restart sets the thread back onto its svc instruction, with the first argument
// in x0 again, where the kernel has put the result.
//
// The kernel does its own part of restarting before it stops for a tracer (arch/arm64/kernel/signal.c, do_signal).
// So it would not give EINTR any more if a signal's handler ran before the return. Then nothing is changed. Nor
// does it tell whether the thread was in the call at all. It may have come back from a signal's handler to the very
// instruction after a call that the signal had broken. To begin that call again is the same to the program as if
// the signal had come just before the call. That does not hold if the call has a signal mask of its own. And the
// first argument, which the kernel then has from another call, must fit this one.
//
//go:nosplit
func (c *Controller) restart(l *Look) bool {
	nr := int64(c.raw[armX8])
	if l.kind == KindSignal && !c.ignored(l) || signalsPending(l.tid) {
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
	asleep := c.sameSleep(l, nr)
	m := c.masked(l.tid, nr)
	if m == maskOther && !asleep {
		return false
	}
	arg0, ok := c.firstArgument(l, nr, m == maskInCall)
	if !ok {
		arg0, ok = l.call.Args[0], asleep
	}
	if !ok {
		return false
	}
	c.raw[armPC] -= 4
	c.raw[0] = arg0
	return setRegSet(l.tid, &c.raw, rawRegsLen) == 0
}

// sameSleep reports whether the call of epoll that the thread comes from is the one that it was seen sleeping in.
// It has run at most twice since, once to get to this stop and once more if it was pre-empted on the way. It is in
// the same place with the same arguments but the first. That one could still differ if an event woke the thread in
// the moment between: so this serves only where beginning again with a wrong one takes nothing from anybody.
//
//go:nosplit
func (c *Controller) sameSleep(l *Look, nr int64) bool {
	was, now := &l.call, &c.raw
	if nr != 22 && nr != 441 || !l.sleeping || was.Nr != nr || was.SP != now[armSP] || was.PC != now[armPC] {
		return false
	}
	for i := 1; i < len(was.Args); i++ {
		if was.Args[i] != now[i] {
			return false
		}
	}
	n := c.runs(l.tid)
	return n == l.runs+1 || n == l.runs+2
}

// firstArgument asks the kernel what x0 was before the call. It keeps the value (orig_x0) for as long as the thread
// makes no other call. It shows it among the arguments of a call at the stop of a seccomp filter
// (arch/arm64/include/asm/syscall.h, syscall_get_arguments). seccompInfo makes this stop look like one. A stop for
// a signal is left alone, as its siginfo is the signal's. inCall: the thread is known to be in the call; else the
// value is taken only if it is a descriptor of the kind that the call takes.
//
//go:nosplit
func (c *Controller) firstArgument(l *Look, nr int64, inCall bool) (uint64, bool) {
	fd := descriptorAArch64(nr)
	if l.kind == KindInterrupt && (inCall || fd != "") && seccompInfo(l.tid, &c.stopInfo, &c.callInfo) {
		v := c.callInfo.args[0]
		return v, v != resultEINTR && (inCall || c.isOpen(l.tid, v, fd))
	}
	v, ok := c.toldArgument(l.tid, nr)
	return v, ok && (inCall || fd == "" || c.isOpen(l.tid, v, fd))
}

// callMask says what a system call has to do with a signal mask of its own.
type callMask uint8

const (
	maskNone   callMask = iota // it has none, or one that changes nothing
	maskInCall                 // it has one, and the thread is in it at this moment
	maskOther                  // it may have one
)

// masked tells whether a call has a signal mask for its time. While a thread is in such a call, PTRACE_GETSIGMASK
// gives another mask than the one that blocks (SigBlk in /proc/TID/status). It is the one that will be restored
// (kernel/ptrace.c).
//
//go:nosplit
func (c *Controller) masked(tid int, nr int64) callMask {
	arg := maskAArch64(nr)
	if arg == 0 || c.raw[arg-1] == 0 {
		return maskNone
	}
	text := c.procText(tid, "/status\x00")
	blocked, ok := digits(text, after(text, "SigBlk:\t"), 16)
	if !ok {
		return maskOther
	}
	if restored, ok := sigMask(tid); ok && restored != blocked {
		return maskInCall
	}
	var own [8]byte
	if nr != 426 && readVM(tid, c.raw[arg-1], own[:]) == 8 && binary.LittleEndian.Uint64(own[:]) == blocked {
		return maskNone
	}
	return maskOther
}

// toldArgument reads the first argument in /proc/TID/syscall. It is there unless the
// kernel has forgotten the call's number, which it does before it stops for a tracer. So
// the number is told to it again (NT_ARM_SYSTEM_CALL), for as long as the file is read.
// Kernels of late (Debian's 6.1.192) then show the result in its place: it is lost.
//
//go:nosplit
func (c *Controller) toldArgument(tid int, nr int64) (uint64, bool) {
	if setSyscall(tid, int32(nr)) != 0 {
		return 0, false
	}
	text := c.procText(tid, "/syscall\x00")
	if setSyscall(tid, -1) != 0 {
		return 0, false
	}
	// "NUMBER 0xARGUMENT ..."
	if got, ok := digits(text, 0, 10); !ok || int64(got) != nr {
		return 0, false
	}
	arg0, ok := digits(text, after(text, "0x"), 16)
	return arg0, ok && arg0 != resultEINTR
}

// runs gives how often the thread has arrived on a processor, the third number of
// schedstat; 0 if that cannot be read.
//
//go:nosplit
func (c *Controller) runs(tid int) uint64 {
	text := c.procText(tid, "/schedstat\x00")
	at := after(text, " ")
	if at < 0 {
		return 0
	}
	next := after(text[at:], " ")
	if next < 0 {
		return 0
	}
	n, _ := digits(text, at+next, 10)
	return n
}

// ignored reports whether the signal that a look has met does nothing to the
// process.
//
//go:nosplit
func (c *Controller) ignored(l *Look) bool {
	text := c.procText(l.tid, "/status\x00")
	bit := uint64(1) << (uint32(l.signal-1) & 63)
	if ign, ok := digits(text, after(text, "SigIgn:\t"), 16); ok && ign&bit != 0 {
		return true
	}
	switch unix.Signal(l.signal) {
	case unix.SIGCHLD, unix.SIGURG, unix.SIGWINCH, unix.SIGCONT: // unless caught
		caught, ok := digits(text, after(text, "SigCgt:\t"), 16)
		return ok && caught&bit == 0
	}
	return false
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

// maskAArch64 tells which argument of a system call points to a signal mask for
// its time, or to what may hold one, from 1 up; 0 if none.
//
//go:nosplit
func maskAArch64(nr int64) int {
	switch nr {
	case 22, 441, 426: // epoll_pwait, epoll_pwait2, io_uring_enter
		return 5
	case 292: // io_pgetevents
		return 6
	}
	return 0
}

// descriptorAArch64 tells what the first argument of a system call is a descriptor of, as the
// text of its link under /proc begins; empty if it is none. Reads and writes give EINTR after a
// stop only of sockets, which can have a time-out.
//
//go:nosplit
func descriptorAArch64(nr int64) string {
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

// svcInstruction is "svc #0", the system call (Arm ARM, C6.2 SVC).
const svcInstruction = 0xd4000001
