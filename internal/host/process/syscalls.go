// SPDX-License-Identifier: Apache-2.0

package process

import (
	"runtime"
	"strconv"

	"prywalk/frames"
)

//go:generate go run ../../../tools/syscalls/main.go

// SyscallName returns a system call's name; "syscall_N" if unknown; "" for a negative number, outside of a call
// (include/asm-generic/syscall.h, syscall_get_nr).
func SyscallName(arch frames.Arch, nr int64) string {
	names := syscallsX86[:]
	if arch == frames.ARM64 {
		names = syscallsARM64[:]
	}
	switch {
	case nr < 0:
		return ""
	case nr < int64(len(names)) && names[nr] != "":
		return names[nr]
	}
	return "syscall_" + strconv.FormatInt(nr, 10)
}

// HostSyscallName returns a system call's name on this machine.
func HostSyscallName(nr int64) string { return SyscallName(HostArch(), nr) }

// HostArch returns this machine's architecture.
func HostArch() frames.Arch {
	if runtime.GOARCH == "arm64" {
		return frames.ARM64
	}
	return frames.X86_64
}
