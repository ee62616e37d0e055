// SPDX-License-Identifier: Apache-2.0

// Package fdlimit records the limit of open files that prywalk was started with, for commands that it starts.
//
// Package syscall raises the soft limit at its initialization (syscall/rlimit.go). This package is initialized before:
// it imports nothing, and its path sorts before "syscall" (Go specification, "Program initialization").
package fdlimit

import "unsafe"

// Limit is a soft and a hard limit.
type Limit struct{ Soft, Hard uint64 }

var started Limit // before package syscall raised it

var known bool

// AtStart returns false if the limit is unknown.
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
