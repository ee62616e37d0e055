// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/frames"
)

func vmReadMayWait(pid int, addr uint64, buf []byte) (int, syscall.Errno) {
	return vmReadPartsMayWait(pid, []frames.Region{{Addr: addr, Bytes: buf}})
}

func vmReadPartsMayWait(pid int, parts []frames.Region) (int, syscall.Errno) {
	var local [MaxParts]unix.Iovec
	var remote [MaxParts]unix.RemoteIovec
	for i := range parts {
		b := parts[i].Bytes
		local[i] = unix.Iovec{Base: unsafe.SliceData(b), Len: uint64(len(b))}
		remote[i] = unix.RemoteIovec{Base: uintptr(parts[i].Addr), Len: len(b)}
	}
	k := uintptr(len(parts))
	CountCall()
	n, _, e := syscall.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid),
		uintptr(unsafe.Pointer(&local)), k, uintptr(unsafe.Pointer(&remote)), k, 0)
	CountCopied(bytesOr0(n, e))
	return bytesOr0(n, e), e
}

func vmRead(pid int, addr uint64, buf []byte) (int, syscall.Errno) {
	local := unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	CountCall()
	n, _, e := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	CountCopied(bytesOr0(n, e))
	return bytesOr0(n, e), e
}
