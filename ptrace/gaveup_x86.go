package ptrace

// amendsX86 says what is to be done about a call, by the numbers of arch/x86/entry/syscalls/syscall_64.tbl.
//
//go:nosplit
func amendsX86(c *call) amends {
	switch {
	case c.result == resultEAGAIN:
		// The verifier gives up (kernel/bpf/verifier.c, do_check); nothing is left of the program.
		if c.nr == 321 && c.arg0 == bpfProgLoad {
			return amendAnew
		}
		return amendNone
	case c.result != resultEINTR:
		if c.result <= resultErrSys && c.result >= resultErrMost && (looksUpX86(c) || changesNamesX86(c.nr)) {
			return amendTold
		}
		return amendNone
	}
	switch {
	case c.nr == 285 && c.arg1&^fallocKeep == 0: // fallocate; what is there by then is kept (fs/hugetlbfs/inode.c)
		return amendGoOn
	case c.nr == 168: // swapoff; what was read in stays (mm/swapfile.c, try_to_unuse)
		return amendGoOn
	case c.nr == 16 && c.arg1 == kvmRun: // the guest goes on (virt/kvm/kvm_main.c)
		return amendGoOn
	case looksUpX86(c): // a server of FUSE gave it up (fs/fuse/dev.c, request_wait_answer)
		return amendAnew
	}
	return amendNothing
}

// looksUpX86 reports whether a call asks a file system for something and changes nothing, so that it can be made
// twice.
//
//go:nosplit
func looksUpX86(c *call) bool {
	switch c.nr {
	case 4, 5, 6, 262, 332: // stat, fstat, lstat, newfstatat, statx
	case 21, 269, 439: // access, faccessat, faccessat2
	case 89, 267: // readlink, readlinkat
	case 78, 217: // getdents, getdents64
	case 137, 138: // statfs, fstatfs
	case 191, 192, 193, 194, 195, 196: // getxattr and listxattr, with l and f
	case 2:
		return c.arg1&openNotPlain == 0
	case 257:
		return c.arg2&openNotPlain == 0
	default:
		return false
	}
	return true
}

// changesNamesX86 reports whether a call changes a file system and waits for nothing in doing so. One that the kernel
// begins again all the same is made by somebody in the thread's stead (kernel/seccomp.c, seccomp_do_user_notification).
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
