// SPDX-License-Identifier: Apache-2.0

package ptrace

// The numbers are of include/uapi/asm-generic/unistd.h.
//
//go:nosplit
func restartableARM64(nr int64, flags uint64) bool {
	switch nr {
	case 22, 441: // epoll_pwait, epoll_pwait2
		return true
	case 193, 192: // semop, semtimedop
		return true
	case 137: // rt_sigtimedwait
		return true
	case 4, 292: // io_getevents, io_pgetevents
		return true
	case 426: // io_uring_enter that has submitted nothing
		return true
	case 63, 65, 207, 212, 243: // read, readv, recvfrom, recvmsg, recvmmsg
		return true
	case 202, 242: // accept, accept4
		return true
	case 64, 66: // write, writev
		return true
	case 206, 211, 269: // sendto, sendmsg, sendmmsg
		return flags&msgFastOpen == 0
	}
	return false
}
