// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"math"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// Results of system calls: negative error numbers (include/linux/errno.h, err.h).
const (
	resultEPERM          = ^uint64(0)
	resultEINTR          = ^uint64(4 - 1)
	resultEAGAIN         = ^uint64(11 - 1)
	resultERESTARTSYS    = ^uint64(512 - 1)
	resultERESTARTNOINTR = ^uint64(513 - 1)
	resultERESTARTNOHAND = ^uint64(514 - 1)
	resultMaxErrno       = ^uint64(4095 - 1)

	// resultLowestRestart is the lowest after which the kernel makes the same call again. ERESTART_RESTARTBLOCK (516)
	// calls restart_syscall(2).
	resultLowestRestart = resultERESTARTNOHAND
)

// Restartable reports whether a system call that gave EINTR at a stop can be restarted unseen because it has done
// nothing: a wait for events, or a transfer, which returns a count once begun; not connect, which goes on, or close.
// flags is that of sendto, sendmsg and sendmmsg, which connect with MSG_FASTOPEN. Reads and writes are restarted on
// sockets only, which nr does not show.
func Restartable(arch frames.Arch, nr int64, flags uint64) bool {
	switch arch {
	case frames.X86_64:
		return restartableX86(nr, flags)
	case frames.ARM64:
		return restartableARM64(nr, flags)
	}
	return false
}

// msgFastOpen is MSG_FASTOPEN (include/linux/socket.h).
const msgFastOpen = 0x20000000

// Repair is a stop's effect on a system call.
type Repair struct {
	Restarted bool // instead of giving EINTR
	// Broken means that the program gets EINTR or EAGAIN, as a restart is unsound, impossible or forbidden
	// (Options.ReadOnly).
	Broken bool
	// RepeatsWork means that the call, or its seccomp supervisor, lost its work and repeats it. If stopped at each tick it
	// never ends.
	RepeatsWork   bool
	ReportedTwice bool // a supervisor gets the call twice (seccomp user notification)
}

type repairer struct {
	regs     *registers
	readOnly bool
	files    procFiles
}

// repair restarts the system call that the stop has ended early, or records that it cannot.
//
// ERESTARTNOHAND makes the kernel restart a call unless a handler is to run. An ignored signal has none, though it ends
// a tracee's wait (kernel/signal.c, sig_ignored). At stop signals nothing is done: these calls give EINTR after SIGCONT
// (signal(7)).
//
// A restart is visible in four cases. The call looks up descriptors and futex words again. A handler of a signal that
// comes within a microsecond of the restart runs before the call. The first write to a socket with TCP_FASTOPEN_CONNECT
// and SO_SNDTIMEO begins its connect twice. A kept ignored signal (mostly SIGCHLD) wakes another thread, whose
// sigtimedwait or epoll_wait may give EINTR.
//
//go:nosplit
func (r *repairer) repair(attachment *Attachment) {
	if kind, sig := attachment.kind, attachment.signal; kind == KindGroup ||
		kind == KindSignal && isStopSignal(sig) && !ignoresSignal(attachment.tid, sig) {
		return
	}
	switch {
	case !r.readOnly && (r.restartTraceMe(attachment) || givesEINTR(&r.regs.raw) && r.restart(attachment)):
		attachment.repair.Restarted = true
	case r.repairAborted(attachment):
	case givesEINTR(&r.regs.raw):
		// else the signal caused it
		attachment.repair.Broken = attachment.kind != KindSignal || ignoresSignal(attachment.tid, attachment.signal)
	}
}

//go:nosplit
func isStopSignal(sig int32) bool {
	s := unix.Signal(sig)
	return s == unix.SIGSTOP || s == unix.SIGTSTP || s == unix.SIGTTIN || s == unix.SIGTTOU
}

// # Calls that a stop aborts
//
// Some long calls abandon their work at a signal or stop. A restart repeats it: the caller must not stop the thread
// again before the call ends ([Repair.RepeatsWork]).

type repairKind uint8

const (
	repairNone          repairKind = iota // not aborted
	repairContinues                       // restart: it continues
	repairRepeats                         // restart: it repeats its work
	repairNever                           // the error stays
	repairReportedTwice                   // the kernel restarts it; a supervisor gets it twice
)

type call struct {
	nr               int64
	arg0, arg1, arg2 uint64
	result           uint64
}

const (
	bpfProgLoad          = 5      // BPF_PROG_LOAD, include/uapi/linux/bpf.h
	fallocKeepSize       = 1      // FALLOC_FL_KEEP_SIZE, include/uapi/linux/falloc.h
	kvmRun               = 0xae80 // KVM_RUN, include/uapi/linux/kvm.h; 0xae is KVM's only (ioctl-number.rst)
	openCreateOrTruncate = 0o1300 // O_CREAT, O_EXCL, O_TRUNC, include/uapi/asm-generic/fcntl.h
)

// RestartableAborted reports whether a system call that was aborted with EINTR (or EAGAIN) can be restarted unseen, and
// whether it then continues its work.
func RestartableAborted(arch frames.Arch, nr int64, args [3]uint64, eagain bool) (again, goesOn bool) {
	c := call{nr: nr, arg0: args[0], arg1: args[1], arg2: args[2], result: resultEINTR}
	if eagain {
		c.result = resultEAGAIN
	}
	if arch != frames.X86_64 {
		return false, false // its first argument is lost
	}
	a := repairKindX86(&c)
	return a == repairContinues || a == repairRepeats, a == repairContinues
}

// repairAborted restarts an aborted call, or records that it cannot; false if the stop has aborted none.
//
//go:nosplit
func (r *repairer) repairAborted(attachment *Attachment) bool {
	a := r.abortedKind(attachment.tid)
	if a == repairNone || attachment.kind == KindSignal && !ignoresSignal(attachment.tid, attachment.signal) {
		return false // the signal alone would have ended it
	}
	attachment.repair.RepeatsWork = a != repairContinues
	switch {
	case a == repairReportedTwice:
		attachment.repair.ReportedTwice = true
	case a == repairNever || r.readOnly || !r.restartAborted(attachment):
		attachment.repair.Broken, attachment.repair.RepeatsWork = true, true
	default:
		attachment.repair.Restarted = true
	}
	return true
}

// ignoresSignal reports whether the process is known to ignore a signal.
func ignoresSignal(tid int, signal int32) bool {
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

// isOpen reports whether the descriptor's /proc link begins with kind.
//
//go:nosplit
func (f *procFiles) isOpen(tid int, fd uint64, kind string) bool {
	if fd > math.MaxInt32 {
		return false
	}
	text := f.link(tid, fd)
	n := 0
	for n < len(kind) && n < len(text) && text[n] == kind[n] {
		n++
	}
	return n == len(kind)
}

// procPath returns the offset behind what it writes, as do putNumber and put.
//
//go:nosplit
func procPath(tid int, name string, buf *[48]byte) int {
	return put(buf, putNumber(buf, put(buf, 0, "/proc/"), uint64(tid)), name)
}

//go:nosplit
func putNumber(buf *[48]byte, at int, v uint64) int {
	digits := 1
	for rest := v / 10; rest > 0; rest /= 10 {
		digits++
	}
	for i := at + digits - 1; i >= at; i-- {
		if i < len(buf) {
			buf[i] = byte('0' + v%10)
		}
		v /= 10
	}
	return min(at+digits, len(buf))
}

//go:nosplit
func put(buf *[48]byte, at int, text string) int {
	for i := 0; i < len(text) && at < len(buf); i++ {
		buf[at] = text[i]
		at++
	}
	return at
}
