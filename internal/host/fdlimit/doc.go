// SPDX-License-Identifier: Apache-2.0

// Package fdlimit records the limit of open files that prywalk was started with, for commands that it starts.
//
// Package syscall raises the soft limit at its initialization (syscall/rlimit.go). This package is initialized before:
// it imports nothing, and its path sorts before "syscall" (Go specification, "Program initialization").
package fdlimit
