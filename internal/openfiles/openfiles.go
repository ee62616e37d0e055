// SPDX-License-Identifier: Apache-2.0

// Package openfiles knows the limit of open files that prywalk was started with, which a command that it starts
// inherits.
//
// # Algorithm
//
// Package syscall raises the soft limit when it is initialised (syscall/rlimit.go), and keeps what it was to itself.
// So the limit is read before that. Packages are initialised in the order of their import paths, as far as their
// imports allow it (Go specification, "Program initialization"). This one imports nothing, and its path comes before
// "syscall". [TestTheLimitIsTheOneThatTheProcessWasStartedWith] fails if that should change.
package openfiles

import "unsafe"

// Limit is a soft and a hard limit.
type Limit struct{ Soft, Hard uint64 }

// started is the limit before package syscall has raised it.
var started Limit

// known: it could be read.
var known bool

// AtStart gives the limit that prywalk was started with, false if it is not known.
func AtStart() (Limit, bool) { return started, known }

//go:linkname rawSyscall6 syscall.RawSyscall6
//go:noescape
func rawSyscall6(nr, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2, errno uintptr)

// rlimitNofile is RLIMIT_NOFILE (include/uapi/asm-generic/resource.h).
const rlimitNofile = 7

func init() {
	_, _, errno := rawSyscall6(sysPrlimit64, 0, rlimitNofile, 0, uintptr(unsafe.Pointer(&started)), 0, 0)
	known = errno == 0
}
