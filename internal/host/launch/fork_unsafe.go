// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// runtimeBeforeFork blocks all signals, and makes a growth of the stack crash; runtimeAfterFork ends both. The runtime
// keeps them for linkname (runtime/proc.go, syscall_runtime_BeforeFork; go.dev/issue/67401).

//go:linkname runtimeBeforeFork syscall.runtime_BeforeFork
func runtimeBeforeFork()

//go:linkname runtimeAfterFork syscall.runtime_AfterFork
func runtimeAfterFork()

//go:noinline
//go:norace
func forkHeld(h *heldChild) (int, syscall.Errno) {
	runtimeBeforeFork()
	pid, _, e := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e == 0 && pid == 0 {
		h.run()
	}
	runtimeAfterFork()
	return int(pid), e
}

// run is the child. It may neither return, allocate nor grow the stack.
//
//go:nosplit
//go:norace
func (h *heldChild) run() {
	close1(h.holdWrite) // else the pipe stays open when the parent ends
	h.inherit()
	if !h.released() {
		exitNow(exitAbandoned)
	}
	_, _, e := syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(h.path)),
		uintptr(unsafe.Pointer(unsafe.SliceData(h.argv))), uintptr(unsafe.Pointer(unsafe.SliceData(h.envv))))
	h.fail(e)
}

// All signals stay blocked until the end, so that none arrives before its action is set.
//
//go:nosplit
//go:norace
func (h *heldChild) inherit() {
	for sig := uintptr(1); sig <= lastSignal; sig++ {
		setAction(sig, uintptr(h.ignored>>(sig-1)&1)) // SIG_IGN or SIG_DFL
	}
	if h.openFiles.Max != 0 {
		_, _, _ = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&h.openFiles)),
			0, 0, 0)
	}
	setOption(unix.PR_SET_PDEATHSIG, h.deathSignal)
	setOption(unix.PR_SET_CHILD_SUBREAPER, h.subreaper)
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&h.blocked)), 0,
		unsafe.Sizeof(h.blocked), 0, 0)
}

//go:nosplit
//go:norace
func setAction(sig, handler uintptr) {
	sa := procmem.SigAction{Handler: handler}
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&sa)), 0, unsafe.Sizeof(sa.Mask),
		0, 0)
}

// released waits for the byte, and returns false if the parent has ended.
//
//go:nosplit
//go:norace
func (h *heldChild) released() bool {
	var b byte
	for {
		n, _, e := syscall.RawSyscall(unix.SYS_READ, uintptr(h.holdRead), uintptr(unsafe.Pointer(&b)), 1)
		if e != unix.EINTR {
			return e == 0 && n == 1
		}
	}
}

// fail sends an error number to the parent.
//
//go:nosplit
//go:norace
func (h *heldChild) fail(e syscall.Errno) {
	number := uint32(e) // little-endian, as Release reads it
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(h.statusWrite), uintptr(unsafe.Pointer(&number)),
		unsafe.Sizeof(number))
	exitNow(exitNotExecuted)
}

//go:nosplit
//go:norace
func close1(fd int) { _, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

//go:nosplit
//go:norace
func exitNow(code uintptr) {
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, code, 0, 0)
	}
}

//go:nosplit
//go:norace
func setOption(option, value int) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_PRCTL, uintptr(option), uintptr(value), 0, 0, 0, 0)
}

func processOption(option int) int {
	var value int32
	_, _, _ = syscall.RawSyscall6(unix.SYS_PRCTL, uintptr(option), uintptr(unsafe.Pointer(&value)), 0, 0, 0, 0)
	return int(value)
}

func anchorAddress() uint64 { return uint64(uintptr(unsafe.Pointer(&anchor))) }
