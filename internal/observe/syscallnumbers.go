// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/process"
)

func futexCall(arch frames.Arch) int64 {
	if arch == frames.AArch64 {
		return 98 // include/uapi/asm-generic/unistd.h
	}
	return 202 // arch/x86/entry/syscalls/syscall_64.tbl
}

func isRestart(nr int64) bool {
	if process.HostArch() == frames.AArch64 {
		return nr == 128
	}
	return nr == 219
}
