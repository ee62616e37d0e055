// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// The numbers are of ptrace(2), include/uapi/linux/elf.h.
const (
	regSetGeneral = 1     // NT_PRSTATUS
	regSetTLS     = 0x401 // NT_ARM_TLS
	regSetPAC     = 0x406 // NT_ARM_PAC_MASK
)

//go:nosplit
func ptrace(req int, tid int, addr, data uintptr) syscall.Errno {
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, uintptr(req), uintptr(tid), addr, data, 0, 0)
	return e
}

// ptraceMayWait is ptrace for requests that may block.
func ptraceMayWait(req int, tid int) syscall.Errno {
	procmem.CountCall()
	pinned := procmem.ReleasePins()
	_, _, e := syscall.Syscall6(unix.SYS_PTRACE, uintptr(req), uintptr(tid), 0, 0, 0, 0)
	procmem.RestorePins(pinned)
	return e
}

type rawRegs [34]uint64

//go:nosplit
func getRegSet(tid, set int, words *rawRegs) (int, syscall.Errno) {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(words)), Len: uint64(unsafe.Sizeof(*words))}
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid),
		uintptr(set), uintptr(unsafe.Pointer(&iov)), 0, 0)
	return int(iov.Len), e
}

// link returns a descriptor's link, valid until the next call.
//
//go:nosplit
func (f *procFiles) link(tid int, fd uint64) []byte {
	n := procPath(tid, "/fd/", &f.path)
	n = putNumber(&f.path, n, fd)
	put(&f.path, n, "\x00")
	got, _, e := syscall.RawSyscall6(unix.SYS_READLINKAT, 0, uintptr(unsafe.Pointer(&f.path)),
		uintptr(unsafe.Pointer(&f.buf)), uintptr(len(f.buf)), 0, 0)
	if e != 0 || got > uintptr(len(f.buf)) {
		return nil
	}
	return f.buf[:got]
}

type sigInfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

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

func waitidBlocking(idType, id, options int, info *sigInfo) syscall.Errno {
	info.pid = 0
	procmem.CountCall()
	procmem.CountWait()
	pinned := procmem.ReleasePins()
	_, _, e := syscall.Syscall6(unix.SYS_WAITID, uintptr(idType), uintptr(id),
		uintptr(unsafe.Pointer(info)), uintptr(options), 0, 0)
	procmem.RestorePins(pinned)
	return e
}

func getSigInfo(tid int, info *sigInfo) syscall.Errno {
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(tid), 0,
		uintptr(unsafe.Pointer(info)), 0, 0)
	return e
}

func nanosleep(d time.Duration) { sleepUntil(Now().Add(d)) }

func sleepUntil(at Moment) {
	ts := unix.NsecToTimespec(int64(at))
	procmem.CountCall()
	procmem.CountWait()
	pinned := procmem.ReleasePins()
	_, _, _ = syscall.Syscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	procmem.RestorePins(pinned)
}

// Faults in reads of another process's memory count for the reader (mm/memory.c, mm_account_fault). With
// CONFIG_PARAVIRT_TIME_ACCOUNTING, CPU time excludes steal time.
func readCounters() (a threadCounters) {
	var ru unix.Rusage
	procmem.CountCall()
	_, _, _ = syscall.RawSyscall(unix.SYS_GETRUSAGE, unix.RUSAGE_THREAD, uintptr(unsafe.Pointer(&ru)), 0)
	cpu := time.Duration(procmem.ThreadCPU())
	return threadCounters{
		wall: Now(), cpu: cpu, faults: ru.Minflt, fromDisk: ru.Majflt, waited: ru.Nvcsw, preempted: ru.Nivcsw,
	}
}

func actionOf(sig syscall.Signal) (sa procmem.SigAction, e syscall.Errno) {
	procmem.CountCall()
	_, _, e = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&sa)),
		unsafe.Sizeof(sa.Mask), 0, 0)
	return sa, e
}

func setAction(sig syscall.Signal, sa *procmem.SigAction) syscall.Errno {
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(sa)), 0,
		unsafe.Sizeof(sa.Mask), 0, 0)
	return e
}

func setNoChildStop() {
	const noCldStop = 1
	sa, e := actionOf(unix.SIGCHLD)
	if e != 0 || sa.Flags&noCldStop != 0 {
		return
	}
	sa.Flags |= noCldStop
	_ = setAction(unix.SIGCHLD, &sa)
}

//go:nosplit
func maskSignals(how int, set procmem.SignalSet) (old procmem.SignalSet, e syscall.Errno) {
	procmem.CountCall()
	_, _, e = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, uintptr(how), uintptr(unsafe.Pointer(&set)),
		uintptr(unsafe.Pointer(&old)), unsafe.Sizeof(set), 0, 0)
	return old, e
}

func isPending(sig syscall.Signal) bool {
	var set procmem.SignalSet
	procmem.CountCall()
	_, _, e := syscall.RawSyscall(unix.SYS_RT_SIGPENDING, uintptr(unsafe.Pointer(&set)), unsafe.Sizeof(set), 0)
	return e == 0 && set&procmem.SetOf(sig) != 0
}

// awaitSignal takes a pending signal of set. EINTR means that another was handled.
func awaitSignal(set procmem.SignalSet) syscall.Errno {
	procmem.CountCall()
	procmem.CountWait()
	pinned := procmem.ReleasePins()
	_, _, e := syscall.Syscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), 0, 0, unsafe.Sizeof(set), 0, 0)
	procmem.RestorePins(pinned)
	return e
}
