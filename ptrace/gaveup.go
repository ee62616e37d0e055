package ptrace

import (
	"prywalk/frames"
	"prywalk/internal/procmem"

	"golang.org/x/sys/unix"
)

// # Calls that work, and give up
//
// Most calls that a stop ends were waiting for something. Some work in the kernel for long and look now and then
// whether a signal is pending, as it is for a thread that is to stop: they give up what they were doing. To begin
// such a call again unseen is sound where that leaves nothing behind that the second beginning does not find as the
// first did. But what was done is mostly lost, and a call that takes longer than it is from tick to tick would never
// end: whoever looks must leave the thread alone until the call is over ([Stop.GaveUp]).

// amends says what is to be done about a call that gave up.
type amends uint8

const (
	amendNone    amends = iota // nothing: it has not given up, or was only waiting
	amendGoOn                  // begin it again: it goes on where it was
	amendAnew                  // begin it again: it does all its work again
	amendNothing               // it gives the error to the program, which may try again
	amendTold                  // the kernel begins it again by itself, and somebody is told of it twice
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

// Amends reports whether a system call that gave EINTR or EAGAIN at a stop, because it gave up what it was doing,
// may be made to begin again unseen, and whether it goes on then where it was. It is for tests and for tables.
func Amends(arch frames.Arch, nr int64, args [3]uint64, eagain bool) (again, goesOn bool) {
	c := call{nr: nr, arg0: args[0], arg1: args[1], arg2: args[2], result: resultEINTR}
	if eagain {
		c.result = resultEAGAIN
	}
	if arch != frames.X86_64 {
		return false, false // what is needed to begin it again is lost there
	}
	a := amendsX86(&c)
	return a == amendGoOn || a == amendAnew, a == amendGoOn
}

// amend deals with a call that gave up: it begins again, or what happened is noted. False if there is none.
//
//go:nosplit
func (c *Controller) amend(l *Look) bool {
	a := c.amends(l.tid)
	if a == amendNone || l.kind == KindSignal && !c.ignores(l.tid, l.signal) {
		return false // without the look, that signal would have ended it too
	}
	l.gaveUp = a != amendGoOn
	switch {
	case a == amendTold:
		l.told = true
	case a == amendNothing || c.opts.ReadOnly || !c.beginAgain(l):
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
