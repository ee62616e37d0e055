// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// Requests and register sets of ptrace(2) and the kernel's include/uapi/linux/elf.h.
const (
	regSetGeneral = 1     // NT_PRSTATUS
	regSetTLS     = 0x401 // NT_ARM_TLS
	regSetPAC     = 0x406 // NT_ARM_PAC_MASK
)

// ptrace is the system call, without a word to the Go scheduler.
//
//go:nosplit
func ptrace(req int, tid int, addr, data uintptr) syscall.Errno {
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, uintptr(req), uintptr(tid), addr, data, 0, 0)
	return e
}

// ptraceMayWait is the system call for requests that can wait for a long time. The
// Go scheduler is told, so that a garbage collection need not wait too.
func ptraceMayWait(req int, tid int) syscall.Errno {
	procmem.CountCall()
	_, _, e := syscall.Syscall6(unix.SYS_PTRACE, uintptr(req), uintptr(tid), 0, 0, 0, 0)
	return e
}

// rawRegs holds the general registers as the kernel lays them out: 27 words on
// x86-64, 34 on arm64.
type rawRegs [34]uint64

// getRegSet reads a register set into words, and gives the number of bytes.
//
//go:nosplit
func getRegSet(tid, set int, words *rawRegs) (int, syscall.Errno) {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(words)), Len: uint64(unsafe.Sizeof(*words))}
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid),
		uintptr(set), uintptr(unsafe.Pointer(&iov)), 0, 0)
	return int(iov.Len), e
}

// readVM is process_vm_readv of one range; the bytes read, 0 if none.
//
//go:nosplit
func readVM(tid int, addr uint64, buf []byte) int {
	if len(buf) == 0 {
		return 0
	}
	local := unix.Iovec{Base: unsafe.SliceData(buf), Len: uint64(len(buf))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	procmem.CountCall()
	n, _, e := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if e != 0 {
		return 0
	}
	procmem.CountCopied(int(n))
	return int(n)
}

// readParts is process_vm_readv of several ranges, of which those without bytes are not asked for, at most maxParts
// of them. The bytes read, in their order, up to the first that cannot be read.
//
//go:nosplit
func readParts(tid int, parts []frames.Region, v *vectors) int {
	k := 0
	for i := range parts {
		if b := parts[i].Bytes; len(b) > 0 && k < maxParts {
			v.local[k] = unix.Iovec{Base: unsafe.SliceData(b), Len: uint64(len(b))}
			v.remote[k] = unix.RemoteIovec{Base: uintptr(parts[i].Addr), Len: len(b)}
			k++
		}
	}
	procmem.CountCall()
	n, _, e := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid),
		uintptr(unsafe.Pointer(&v.local)), uintptr(k), uintptr(unsafe.Pointer(&v.remote)), uintptr(k), 0)
	if e != 0 {
		return 0
	}
	procmem.CountCopied(int(n))
	return int(n)
}

// procLink gives where the link /proc/TID/fd/FD leads, valid until the next call. The table of
// descriptors is the thread's own (kernel fs/proc/fd.c), which it may not share with its process.
//
//go:nosplit
func (c *Controller) procLink(tid int, fd uint64) []byte {
	n := procPath(tid, "/fd/", &c.procPath)
	n = putNumber(&c.procPath, n, fd)
	put(&c.procPath, n, "\x00")
	got, _, e := syscall.RawSyscall6(unix.SYS_READLINKAT, 0, uintptr(unsafe.Pointer(&c.procPath)),
		uintptr(unsafe.Pointer(&c.procBuf)), uintptr(len(c.procBuf)), 0, 0)
	if e != 0 || got > uintptr(len(c.procBuf)) {
		return nil
	}
	return c.procBuf[:got]
}

// vectors is what readParts tells the kernel, kept for use again.
type vectors struct {
	local  [maxParts]unix.Iovec
	remote [maxParts]unix.RemoteIovec
}

// sigInfo is the part of siginfo_t that waits and PTRACE_GETSIGINFO use, on
// 64-bit machines.
type sigInfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// waitid waits without blocking (WNOHANG is added). pid 0 in the answer: nothing
// to report.
//
//go:nosplit
func waitid(idType, id, options int, info *sigInfo) syscall.Errno {
	info.pid = 0
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_WAITID, uintptr(idType), uintptr(id),
		uintptr(unsafe.Pointer(info)), uintptr(options|unix.WNOHANG), 0, 0)
	if info.pid == 0 {
		procmem.CountWait()
	}
	return e
}

// waitidBlocking waits until there is something to report, or a signal comes (EINTR).
// The Go scheduler is not told.
func waitidBlocking(idType, id, options int, info *sigInfo) syscall.Errno {
	info.pid = 0
	procmem.CountCall()
	procmem.CountWait()
	_, _, e := syscall.RawSyscall6(unix.SYS_WAITID, uintptr(idType), uintptr(id),
		uintptr(unsafe.Pointer(info)), uintptr(options), 0, 0)
	return e
}

// getSigInfo reads what a stopped thread stopped for; ESRCH if it is not stopped.
func getSigInfo(tid int, info *sigInfo) syscall.Errno {
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(tid), 0,
		uintptr(unsafe.Pointer(info)), 0, 0)
	return e
}

// nanosleep sleeps for ns nanoseconds, without a word to the Go scheduler.
func nanosleep(ns int64) {
	ts := unix.NsecToTimespec(ns)
	procmem.CountCall()
	procmem.CountWait()
	_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// ownAccount reads what the kernel has counted for the calling thread. Pages that are provided for a read of another
// process's memory count for whoever reads (kernel mm/memory.c, mm_account_fault). What a hypervisor takes is no
// processor time, if it tells (CONFIG_PARAVIRT_TIME_ACCOUNTING).
func ownAccount() (a account) {
	var ru unix.Rusage
	var cpu unix.Timespec
	procmem.CountCall()
	procmem.CountCall()
	_, _, _ = syscall.RawSyscall(unix.SYS_GETRUSAGE, unix.RUSAGE_THREAD, uintptr(unsafe.Pointer(&ru)), 0)
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&cpu)), 0)
	return account{
		at: procmem.Now(), cpu: cpu.Nano(), faults: ru.Minflt, fromDisk: ru.Majflt, waited: ru.Nvcsw, preempted: ru.Nivcsw,
	}
}

// sigAction is the kernel's struct sigaction (amd64 and arm64 alike).
type sigAction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// actionOf reads what this process does about a signal.
func actionOf(sig syscall.Signal) (sa sigAction, e syscall.Errno) {
	procmem.CountCall()
	_, _, e = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&sa)),
		unsafe.Sizeof(sa.mask), 0, 0)
	return sa, e
}

// setAction changes it.
func setAction(sig syscall.Signal, sa *sigAction) syscall.Errno {
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(sa)), 0,
		unsafe.Sizeof(sa.mask), 0, 0)
	return e
}

// quietChildStops sets SA_NOCLDSTOP for SIGCHLD, so that stops of tracees do not
// interrupt this process with a signal each. The Go runtime's handler stays.
func quietChildStops() {
	const noCldStop = 1
	sa, e := actionOf(unix.SIGCHLD)
	if e != 0 || sa.flags&noCldStop != 0 {
		return
	}
	sa.flags |= noCldStop
	_ = setAction(unix.SIGCHLD, &sa)
}

// signalSet is the kernel's sigset_t: signal n is bit n−1.
type signalSet uint64

func setOf(sigs ...syscall.Signal) (set signalSet) {
	for _, s := range sigs {
		set |= 1 << (s - 1)
	}
	return set
}

// maskSignals changes the signals that the calling thread blocks (SIG_BLOCK, SIG_UNBLOCK,
// SIG_SETMASK), and gives those that it did before.
//
//go:nosplit
func maskSignals(how int, set signalSet) (old signalSet, e syscall.Errno) {
	procmem.CountCall()
	_, _, e = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, uintptr(how), uintptr(unsafe.Pointer(&set)),
		uintptr(unsafe.Pointer(&old)), unsafe.Sizeof(set), 0, 0)
	return old, e
}

// isPending reports whether a signal that the calling thread blocks waits for it.
func isPending(sig syscall.Signal) bool {
	var set signalSet
	procmem.CountCall()
	_, _, e := syscall.RawSyscall(unix.SYS_RT_SIGPENDING, uintptr(unsafe.Pointer(&set)), unsafe.Sizeof(set), 0)
	return e == 0 && set&setOf(sig) != 0
}

// awaitSignal sleeps until one of some blocked signals is there, and takes it, or until another
// one is handled (EINTR).
func awaitSignal(set signalSet) syscall.Errno {
	procmem.CountCall()
	procmem.CountWait()
	_, _, e := syscall.RawSyscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), 0, 0, unsafe.Sizeof(set), 0, 0)
	return e
}

// sigEvent is the kernel's struct sigevent.
type sigEvent struct {
	value         uint64
	signo, notify int32
	tid           int32
	_             [44]byte
}

// timerCreate makes a timer of CLOCK_MONOTONIC that sends a signal to a thread of this process.
func timerCreate(sig syscall.Signal, tid int) (id int32, e syscall.Errno) {
	const sigevThreadID = 4
	ev := sigEvent{signo: int32(sig), notify: sigevThreadID, tid: int32(tid)}
	procmem.CountCall()
	_, _, e = syscall.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&ev)),
		uintptr(unsafe.Pointer(&id)))
	return id, e
}

// timerSet lets a timer fire once, at a moment.
//
//go:nosplit
func timerSet(id int32, at int64) syscall.Errno {
	spec := unix.ItimerSpec{Value: unix.Timespec{Sec: at / 1e9, Nsec: at % 1e9}}
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(id), unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&spec)),
		0, 0, 0)
	return e
}

func timerDelete(id int32) {
	procmem.CountCall()
	_, _, _ = syscall.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(id), 0, 0)
}
