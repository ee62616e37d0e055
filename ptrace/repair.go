package ptrace

import (
	"prywalk/frames"

	"golang.org/x/sys/unix"
)

// Error numbers as a system call's result, two's complement.
const (
	resultEINTR   = ^uint64(4 - 1)   // −EINTR
	resultRestart = ^uint64(514 - 1) // −ERESTARTNOHAND, include/linux/errno.h
	resultEPERM   = ^uint64(0)       // −EPERM, which is −1
	resultAgain   = ^uint64(513 - 1) // −ERESTARTNOINTR
)

// Restartable reports whether a system call that gave EINTR at a stop may be made
// to begin again unseen: it has then done nothing yet, and beginning again does
// the same. That is so for calls that wait for events, and for sending and
// receiving, which give a count instead once something was transferred. It is not
// so for connect (it goes on in the background) or close. Flags is the argument
// that holds the flags of sendto, sendmsg and sendmmsg; with MSG_FASTOPEN they
// connect. Of reads and writes only those of sockets are restarted, which the number does not tell.
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
// With the result ERESTARTNOHAND the kernel begins the call again, unless a
// signal's handler is to run before the return: then the program gets EINTR, as
// it would have without the look. A signal that is ignored does not count, though
// for a tracee it ends the wait (kernel/signal.c, sig_ignored). Stop signals do:
// a call of these that SIGSTOP broke gives EINTR after SIGCONT (signal(7)).
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
	case c.amend(l):
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
