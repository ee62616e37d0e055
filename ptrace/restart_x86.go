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
	case 23, 270, 271: // select, pselect6, ppoll: EINTR if what is left of the time-out could not be written
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

// onSockets reports whether a system call may begin again only if its first argument is a
// socket: read, write, readv, writev. A socket with a time-out gives EINTR if nothing was
// transferred (include/net/sock.h, sock_intr_errno). Of other files the kernel restarts the
// call by itself where it knows that to be sound. An EINTR means that it does not: a server
// of FUSE has answered so, or work was done (mm/memcontrol.c, memory_reclaim).
//
//go:nosplit
func onSockets(nr int64) bool {
	switch nr {
	case 0, 1, 19, 20:
		return true
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
