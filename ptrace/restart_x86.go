package ptrace

// restartableX86 is [Restartable] by the numbers of arch/x86/entry/syscalls/syscall_64.tbl.
//
//go:nosplit
func restartableX86(nr int64, flags uint64) bool {
	switch nr {
	case 232, 281, 441: // epoll_wait, epoll_pwait, epoll_pwait2
		return true
	case 65, 220: // semop, semtimedop
		return true
	case 128: // rt_sigtimedwait
		return true
	case 208, 333: // io_getevents, io_pgetevents
		return true
	case 426: // io_uring_enter: EINTR only if it has submitted nothing
		return true
	case 0, 19, 45, 47, 299: // read, readv, recvfrom, recvmsg, recvmmsg
		return true
	case 43, 288: // accept, accept4
		return true
	case 1, 20: // write, writev
		return true
	case 44, 46, 307: // sendto, sendmsg, sendmmsg
		return flags&msgFastOpen == 0
	}
	return false
}

// sendFlagsX86 tells which argument of a system call holds the flags of a send:
// 3 (rdx) or 4 (r10), 0 if none.
//
//go:nosplit
func sendFlagsX86(nr int64) int {
	switch nr {
	case 46:
		return 3
	case 44, 307:
		return 4
	}
	return 0
}
