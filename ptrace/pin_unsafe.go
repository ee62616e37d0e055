// SPDX-License-Identifier: Apache-2.0

package ptrace

import _ "unsafe" // for go:linkname

// The Go runtime asks a goroutine that has run for 10 ms to make room, and a garbage collection asks all. One that
// is locked to its OS thread then waits until another thread of the process, of ordinary priority, has handed its
// turn back. On a busy machine that is a long time, while a thread that was interrupted stands still. A pinned
// goroutine lets such requests pass.
//
// The runtime remembers them all the same. It takes one up again when the goroutine, not pinned, allocates or makes a
// system call that the scheduler is told of (runtime/runtime1.go, releasem; runtime/proc.go, exitsyscall). So where
// somebody may have been asked to stop, that is done pinned, or by a raw call.
//
// These two functions are what package sync pins its pools with; the runtime keeps them
// reachable for others (runtime/proc.go, procPin; go.dev/issue/67401).

//go:linkname runtimePin runtime.procPin
func runtimePin() int

//go:linkname runtimeUnpin runtime.procUnpin
func runtimeUnpin()

// Pin keeps the calling goroutine running until [Unpin]; pairs nest. In between it may allocate and make raw system
// calls, but neither wait for another goroutine nor make system calls that tell the Go scheduler. The runtime would
// abort the program. A collection that begins meanwhile waits for Unpin: pin for milliseconds at most, but for
// sleeps of a program that does not collect then.
func Pin() { _ = runtimePin() }

// Unpin ends what [Pin] began.
func Unpin() {
	absorb()
	runtimeUnpin()
}

// absorb lets a request to make room that came while the goroutine was pinned pass: it
// is noticed where a function's stack is checked, and dropped there.
//
//go:noinline
func absorb() {
	var room [128]byte
	touch(&room)
}

//go:noinline
func touch(b *[128]byte) { b[0]++ }
