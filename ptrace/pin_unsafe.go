// SPDX-License-Identifier: Apache-2.0

package ptrace

import _ "unsafe" // for go:linkname

// The Go runtime requests yields after 10 ms and for garbage collections. A pinned goroutine ignores them until its
// next allocation or ordinary system call after the pin (runtime/runtime1.go, releasem; runtime/proc.go, exitsyscall).
//
// These functions are kept for linkname (runtime/proc.go, procPin).

//go:linkname runtimePin runtime.procPin
func runtimePin() int

//go:linkname runtimeUnpin runtime.procUnpin
func runtimeUnpin()

// Pin prevents pre-emption of the calling goroutine until [Unpin]; pairs nest. Meanwhile blocking and ordinary system
// calls abort the runtime, and garbage collections wait: pin for some ms at most, or where none can begin.
func Pin() { _ = runtimePin() }

// Unpin ends [Pin].
func Unpin() {
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
