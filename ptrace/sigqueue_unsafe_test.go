// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func sigqueue(pid int, value int32) syscall.Errno {
	info := struct {
		signo, errno, code, _ int32
		pid                   int32
		uid                   uint32
		value                 int64
		_                     [96]byte
	}{signo: 34, code: -1, pid: int32(os.Getpid()), uid: uint32(os.Getuid()), value: int64(value)}
	_, _, e := syscall.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), 34, uintptr(unsafe.Pointer(&info)))
	return e
}
