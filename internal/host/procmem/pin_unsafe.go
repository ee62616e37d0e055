// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"
)

// The Go runtime requests yields after 10 ms and for garbage collections. A pinned goroutine ignores them until its
// next allocation or ordinary system call after the pin (runtime/runtime1.go, releasem; runtime/proc.go, exitsyscall).
//
// These functions are kept for linkname (runtime/proc.go, procPin).

//go:linkname runtimePin runtime.procPin
func runtimePin() int

//go:linkname runtimeUnpin runtime.procUnpin
func runtimeUnpin()

// pins counts the pins of each thread, by the runtime's m.locks. A pinned goroutine stays on its thread; its P it can
// lose in an ordinary system call, such as the close of a file, that takes more than 20 µs (runtime/proc.go, retake).
var pins [maxTID]uint8

const maxTID = 1 << 22 // PID_MAX_LIMIT, include/linux/threads.h

//go:nosplit
func pinsOfThread() *uint8 {
	tid, _, _ := syscall.RawSyscall(unix.SYS_GETTID, 0, 0, 0)
	return &pins[tid%maxTID]
}

// Pin is ptrace.Pin.
//
//go:norace
func Pin() {
	runtimePin()
	*pinsOfThread()++
}

// Unpin is ptrace.Unpin.
//
//go:norace
func Unpin() {
	consumePreemption()
	*pinsOfThread()--
	runtimeUnpin()
}

// # Waits
//
// A wait is a system call that the Go scheduler knows of, with no pin: a collection takes the P, and counts the
// goroutine as stopped. Code between: all nosplit.
//
//	n := ReleasePins()
//	syscall.Syscall6(…)
//	RestorePins(n)

// ReleasePins begins a wait.
//
//go:nosplit
//go:norace
func ReleasePins() (n uint8) {
	runtimePin()
	count := pinsOfThread()
	n, *count = *count, 0
	for range n {
		runtimeUnpin()
	}
	runtimeUnpin()
	return n
}

// RestorePins also consumes the runtime's request for a yield after 10 ms, most of which the thread has slept. Requests
// for collections are repeated each 100 µs.
//
//go:nosplit
//go:norace
func RestorePins(n uint8) {
	runtimePin()
	for range n {
		runtimePin()
	}
	*pinsOfThread() = n
	consumePreemption()
	runtimeUnpin()
}

// consumePreemption consumes, by a stack check, a request made while pinned.
//
//go:noinline
func consumePreemption() {
	var room [128]byte
	touch(&room)
}

//go:noinline
func touch(b *[128]byte) { b[0]++ }
