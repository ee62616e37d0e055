// SPDX-License-Identifier: Apache-2.0

package ptrace

// Words of struct user_regs_struct (procmem, userregs.go).
const (
	x86R10     = 7
	x86Rax     = 10
	x86Rdx     = 12
	x86Rsi     = 13
	x86Rdi     = 14
	x86OrigRax = 15
	x86Cs      = 17
	x86Rsp     = 19
)

// The numbers are of arch/x86/entry/syscalls/syscall_64.tbl.
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
	case 23, 270, 271: // select, pselect6, ppoll that could not write the remaining time-out
		return true
	case 426: // io_uring_enter that has submitted nothing
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

// On other files than sockets EINTR can follow work (FUSE; mm/memcontrol.c, memory_reclaim). A socket gives it if it
// has a time-out (include/net/sock.h, sock_intr_errno).
//
//go:nosplit
func restartsOnSocketsOnly(nr int64) bool {
	switch nr {
	case 0, 1, 19, 20:
		return true
	}
	return false
}

// sendFlagsX86 returns 3 for rdx, 4 for r10, 0 without flags.
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

//go:nosplit
func repairKindX86(c *call) repairKind {
	switch {
	case c.result == resultEAGAIN:
		// the verifier gave up and left nothing (kernel/bpf/verifier.c, do_check)
		if c.nr == 321 && c.arg0 == bpfProgLoad {
			return repairRepeats
		}
		return repairNone
	case c.result != resultEINTR:
		if c.result <= resultERESTARTSYS && c.result >= resultLowestRestart && (isQueryX86(c) || changesNamesX86(c.nr)) {
			return repairReportedTwice
		}
		return repairNone
	}
	switch {
	case c.nr == 285 && c.arg1&^fallocKeepSize == 0:
		// This is fallocate: of huge pages it continues (fs/hugetlbfs/inode.c), on older kernels' tmpfs it begins again
		// (mm/shmem.c).
		return repairRepeats
	case c.nr == 168: // swapoff; what was read in stays (mm/swapfile.c, try_to_unuse)
		return repairContinues
	case c.nr == 16 && c.arg1 == kvmRun: // the guest continues (virt/kvm/kvm_main.c)
		return repairContinues
	case isQueryX86(c): // a FUSE request was aborted (fs/fuse/dev.c, request_wait_answer)
		return repairRepeats
	}
	return repairNever
}

// isQueryX86 reports whether a call is a file system query, which can be repeated.
//
//go:nosplit
func isQueryX86(c *call) bool {
	switch c.nr {
	case 4, 5, 6, 262, 332: // stat, fstat, lstat, newfstatat, statx
	case 21, 269, 439: // access, faccessat, faccessat2
	case 89, 267: // readlink, readlinkat
	case 78, 217: // getdents, getdents64
	case 137, 138: // statfs, fstatfs
	case 191, 192, 193, 194, 195, 196: // getxattr and listxattr, with l and f
	case 2:
		return c.arg1&openCreateOrTruncate == 0
	case 257:
		return c.arg2&openCreateOrTruncate == 0
	default:
		return false
	}
	return true
}

// changesNamesX86 reports whether a call changes a file system without waiting. If the kernel restarts such a call, a
// seccomp supervisor makes it (kernel/seccomp.c, seccomp_do_user_notification).
//
//go:nosplit
func changesNamesX86(nr int64) bool {
	switch nr {
	case 82, 83, 84, 85, 86, 87, 88: // rename, mkdir, rmdir, creat, link, unlink, symlink
	case 90, 91, 92, 93, 94, 133: // chmod, fchmod, chown, fchown, lchown, mknod
	case 258, 259, 260, 263, 264, 265, 266, 268, 316: // the same by descriptors
	case 165, 166, 161, 188, 189, 190: // mount, umount2, chroot, setxattr, lsetxattr, fsetxattr
	default:
		return false
	}
	return true
}
