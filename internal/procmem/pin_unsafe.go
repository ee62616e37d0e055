// SPDX-License-Identifier: Apache-2.0

package procmem

import _ "unsafe" // for go:linkname

// The Go runtime requests yields after 10 ms and for garbage collections. A pinned goroutine ignores them until its
// next allocation or ordinary system call after the pin (runtime/runtime1.go, releasem; runtime/proc.go, exitsyscall).
//
// These functions are kept for linkname (runtime/proc.go, procPin).

//go:linkname runtimePin runtime.procPin
func runtimePin() int

//go:linkname runtimeUnpin runtime.procUnpin
func runtimeUnpin()

// pins counts the pins on each P. Only the pinned goroutine that runs on a P uses its count.
var pins [maxProcs]uint8

const maxProcs = 1 << 16 // beyond any kernel's CONFIG_NR_CPUS

// Pin is ptrace.Pin.
//
//go:norace
func Pin() { pins[runtimePin()]++ }

// Unpin is ptrace.Unpin.
//
//go:norace
func Unpin() {
	consumePreemption()
	pins[runtimePin()]--
	runtimeUnpin()
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
	p := runtimePin()
	n, pins[p] = pins[p], 0
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
	p := runtimePin()
	for range n {
		runtimePin()
	}
	pins[p] = n
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
