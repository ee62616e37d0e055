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
// The kernel does its own part of restarting before it stops for a tracer
// (arch/arm64/kernel/signal.c, do_signal), so it would not give EINTR any more if
// a signal's handler ran before the return; then nothing is changed. Nor does it
// tell whether the thread was in the call at all: it may have come back from a
// signal's handler to the very instruction after a call that the signal had
// broken. To begin that call again is the same to the program as if the signal had
// come just before the call, unless the call has a signal mask of its own: such a
// one is restarted only if the thread was seen sleeping in it.
//
//go:nosplit
func (c *Controller) restart(l *Look) bool {
	nr := int64(c.raw[armX8])
	if l.kind == KindSignal && !c.ignored(l) || signalsPending(l.tid) {
		return false
	}
	asleep := c.sameSleep(l, nr)
	var flags uint64
	if arg := sendFlagsAArch64(nr); arg > 0 {
		flags = c.raw[arg-1]
	}
	if arg := maskAArch64(nr); arg > 0 && c.raw[arg-1] != 0 && !asleep {
		return false
	}
	var insn [4]byte
	if !restartableAArch64(nr, flags) || readVM(l.tid, c.raw[armPC]-4, insn[:]) != 4 ||
		binary.LittleEndian.Uint32(insn[:]) != svcInstruction {
		return false
	}
	arg0, ok := c.firstArgument(l.tid, nr)
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

// sameSleep reports whether the call of epoll that the thread comes from is the one
// that it was seen sleeping in: it has run at most twice since, once to get to this
// stop and once more if it was pre-empted on the way, and is in the same place with the
// same arguments but the first. That one could still differ if an event woke
// the thread in the moment between: so this serves only where beginning again with
// a wrong one takes nothing from anybody.
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

// firstArgument asks the kernel what x0 was before the call. It keeps the value
// (orig_x0) and shows it in /proc/TID/syscall, though not once it has forgotten the
// call's number, which it does before it stops for a tracer. So the number is told to
// it again (NT_ARM_SYSTEM_CALL), for as long as the file is read. Kernels of late
// copy x0 there when they are told, which holds the result: then it is lost.
//
//go:nosplit
func (c *Controller) firstArgument(tid int, nr int64) (uint64, bool) {
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

// svcInstruction is "svc #0", the system call (Arm ARM, C6.2 SVC).
const svcInstruction = 0xd4000001
