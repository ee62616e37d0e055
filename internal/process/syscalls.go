// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strconv"

	"prywalk/frames"
)

//go:generate go run gensyscalls.go

// SyscallName gives the name of a system call, such as "epoll_wait". A number
// that the tables do not know becomes "syscall_N"; a negative one, which
// /proc/PID/task/TID/syscall shows for a thread that is blocked outside of a
// call, becomes "" (include/asm-generic/syscall.h, syscall_get_nr).
func SyscallName(arch frames.Arch, nr int64) string {
	names := syscallsX86[:]
	if arch == frames.AArch64 {
		names = syscallsAArch64[:]
	}
	switch {
	case nr < 0:
		return ""
	case nr < int64(len(names)) && names[nr] != "":
		return names[nr]
	}
	return "syscall_" + strconv.FormatInt(nr, 10)
}
