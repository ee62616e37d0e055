// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// Error numbers as a system call's result, two's complement.
const (
	resultEINTR   = ^uint64(4 - 1)   // −EINTR
	resultRestart = ^uint64(514 - 1) // −ERESTARTNOHAND, include/linux/errno.h
	resultEPERM   = ^uint64(0)       // −EPERM, which is −1
	resultAgain   = ^uint64(513 - 1) // −ERESTARTNOINTR
)

// Restartable reports whether a system call that gave EINTR at a stop may be made to begin again unseen. It has
// then done nothing yet, and beginning again does the same. That is so for calls that wait for events, and for
// sending and receiving, which give a count instead once something was transferred. It is not so for connect (it
// goes on in the background) or close. Flags is the argument that holds the flags of sendto, sendmsg and sendmmsg;
// with MSG_FASTOPEN they connect. Of reads and writes only those of sockets are restarted, which the number does
// not tell.
func Restartable(arch frames.Arch, nr int64, flags uint64) bool {
	switch arch {
	case frames.X86_64:
		return restartableX86(nr, flags)
	case frames.AArch64:
		return restartableAArch64(nr, flags)
	}
	return false
}

// msgFastOpen is MSG_FASTOPEN of include/linux/socket.h.
const msgFastOpen = 0x20000000

// repair makes the kernel restart a system call that this stop has broken.
//
// With the result ERESTARTNOHAND the kernel begins the call again, unless a signal's handler is to run before the
// return. Then the program gets EINTR, as it would have without the look. A signal that is ignored does not count,
// though for a tracee it ends the wait (kernel/signal.c, sig_ignored). Stop signals do: a call of these that
// SIGSTOP broke gives EINTR after SIGCONT (signal(7)).
//
//go:nosplit
func (c *Controller) repair(l *Look) {
	if l.kind == KindGroup || l.kind == KindSignal && stops(l.signal) && !c.ignores(l.tid, l.signal) {
		return
	}
	if refusedTraceMe(&c.raw) {
		l.restarted = !c.opts.ReadOnly && c.traceMe(l)
		return
	}
	switch {
	case broken(&c.raw) && !c.opts.ReadOnly && c.restart(l):
		l.restarted = true
	case c.repairGivenUp(l):
	case broken(&c.raw):
		l.broken = l.kind != KindSignal || c.ignores(l.tid, l.signal) // else the signal did it
	}
}

// stops reports whether a signal's default action is to stop the process. All but SIGSTOP can be ignored or caught.
//
//go:nosplit
func stops(sig int32) bool {
	s := unix.Signal(sig)
	return s == unix.SIGSTOP || s == unix.SIGTSTP || s == unix.SIGTTIN || s == unix.SIGTTOU
}

// # Calls that work, and give up
//
// Most calls that a stop ends were waiting for something. Some work in the kernel for long and look now and then
// whether a signal is pending, as it is for a thread that is to stop. They give up what they were doing. To begin
// such a call again unseen is sound where that leaves nothing behind that the second beginning does not find as the
// first did. But what was done is mostly lost, and a call that takes longer than it is from tick to tick would
// never end. Whoever looks must leave the thread alone until the call is over ([Stop.GaveUp]).

// repairKind says what is to be done about a call that gave up.
type repairKind uint8

const (
	repairNone  repairKind = iota // nothing: it has not given up, or was only waiting
	repairGoOn                    // begin it again: it goes on where it was
	repairAnew                    // begin it again: it does all its work again
	repairNever                   // it gives the error to the program, which may try again
	repairTold                    // the kernel begins it again by itself, and somebody is told of it twice
)

// call is what registers tell of a system call that is about to return.
type call struct {
	nr               int64
	arg0, arg1, arg2 uint64
	result           uint64
}

// Numbers that the arguments of such calls hold.
const (
	bpfProgLoad   = 5      // BPF_PROG_LOAD, include/uapi/linux/bpf.h
	fallocKeep    = 1      // FALLOC_FL_KEEP_SIZE, include/uapi/linux/falloc.h
	kvmRun        = 0xae80 // KVM_RUN, include/uapi/linux/kvm.h; 0xae is of KVM alone (ioctl-number.rst)
	openNotPlain  = 0o1300 // O_CREAT, O_EXCL, O_TRUNC, include/uapi/asm-generic/fcntl.h
	resultEAGAIN  = ^uint64(11 - 1)
	resultErrSys  = ^uint64(512 - 1)  // −ERESTARTSYS, include/linux/errno.h
	resultErrMost = resultRestart     // −ERESTARTNOHAND, the lowest of the three
	resultLowest  = ^uint64(4095 - 1) // −MAX_ERRNO, include/linux/err.h
)

// Repairs reports whether a system call that gave EINTR or EAGAIN at a stop, because it gave up what it was doing,
// may be made to begin again unseen. goesOn tells whether it goes on then where it was. It is for tests and for
// tables.
func Repairs(arch frames.Arch, nr int64, args [3]uint64, eagain bool) (again, goesOn bool) {
	c := call{nr: nr, arg0: args[0], arg1: args[1], arg2: args[2], result: resultEINTR}
	if eagain {
		c.result = resultEAGAIN
	}
	if arch != frames.X86_64 {
		return false, false // what is needed to begin it again is lost there
	}
	a := repairKindX86(&c)
	return a == repairGoOn || a == repairAnew, a == repairGoOn
}

// repairGivenUp deals with a call that gave up: it begins again, or what happened is noted. False if there is none.
//
//go:nosplit
func (c *Controller) repairGivenUp(l *Look) bool {
	a := c.neededRepair(l.tid)
	if a == repairNone || l.kind == KindSignal && !c.ignores(l.tid, l.signal) {
		return false // without the look, that signal would have ended it too
	}
	l.gaveUp = a != repairGoOn
	switch {
	case a == repairTold:
		l.told = true
	case a == repairNever || c.opts.ReadOnly || !c.beginAgain(l):
		l.broken, l.gaveUp = true, true
	default:
		l.restarted = true
	}
	return true
}

// ignores reports whether a signal does nothing to the process of a thread. That it does not is taken for granted
// where it cannot be found out.
func (c *Controller) ignores(tid int, signal int32) bool {
	var st procmem.Status
	if procmem.ReadStatus(tid, &st) != nil {
		return false
	}
	bit := uint64(1) << (uint32(signal-1) & 63)
	if st.SigIgn&bit != 0 {
		return true
	}
	switch unix.Signal(signal) {
	case unix.SIGCHLD, unix.SIGURG, unix.SIGWINCH, unix.SIGCONT: // unless caught
		return st.SigCgt&bit == 0
	}
	return false
}
