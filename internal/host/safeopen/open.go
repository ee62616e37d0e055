// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Why a file is not opened.
var (
	errNotRegular = errors.New("not a regular file") // or in a kernel file system
	ErrNotTrusted = errors.New("other users may have written it")
	ErrOutdated   = errors.New("it is older than the process it describes") // than Request.Since
	ErrTooLarge   = errors.New("the file is too large")                     // than Request.MaxSize
	ErrStuck      = errors.New("the file system does not answer")           // or too many answers are pending
)

// Request is a file to open.
type Request struct {
	Root    string // "/" for Path and all links in it; "" is "/"
	Path    string // below Root
	Beneath bool   // an error for a path that leads out of Root
	Kernel  bool   // Path is a kernel link to an open or mapped file (/proc/PID/exe); Root is not used
	NoLink  bool   // refuse a symbolic link as the last element
	Trust   *Trust // permitted owners; nil permits any
	Since   int64  // earliest permitted last write, in nanoseconds of Unix time; 0 permits any
	MaxSize int64  // in bytes; 0 permits any
}

func (r *Request) name() string {
	if r.Kernel || r.Root == "" || r.Root == "/" {
		return r.Path
	}
	return r.Root + "/" + strings.TrimPrefix(r.Path, "/")
}

// Opener opens files for one process or request. The zero value is ready. Safe for concurrent use.
type Opener struct{ calls pendingCalls }

// Open opens a file for reading. The error wraps one above or the kernel's.
func (o *Opener) Open(r Request) (*File, error) {
	f, err := wait(&o.calls, func() (*File, error) {
		var m *mounts // nil if FUSE is not distinguished
		if len(Copier) > 0 {
			m = mountsFor(&r)
		}
		return open(o, r, m)
	}, func(f *File) { f.f.Close() })
	if errors.Is(err, errFUSE) {
		f, err = o.openByCopier(r)
	}
	if err != nil {
		recordSkipped(r.name(), err)
		return nil, &os.PathError{Op: "open", Path: r.name(), Err: err}
	}
	return f, nil
}

func open(o *Opener, r Request, m *mounts) (*File, error) {
	fd, err := resolve(&r, m)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	f := &File{by: o, req: r}
	if err := unix.Fstat(fd, &f.st); err != nil {
		return nil, err
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return nil, err
	}
	switch {
	case f.st.Mode&unix.S_IFMT != unix.S_IFREG, kernelFileSystems[fs.Type]:
		return nil, errNotRegular
	case r.MaxSize > 0 && f.st.Size > r.MaxSize:
		return nil, ErrTooLarge
	}
	if err := r.Trust.check(&f.st); err != nil {
		return nil, err
	}
	if f.st.Mtim.Nano() < r.Since {
		return nil, ErrOutdated
	}
	f.slow = !localFileSystems[fs.Type]
	if f.f, err = reopen(fd, r.name()); err != nil {
		return nil, err
	}
	return f, nil
}

// reopen opens the inode of an O_PATH descriptor for reading. O_NONBLOCK avoids waiting for a lease (fcntl(2),
// F_SETLEASE). It is cleared afterwards: the runtime would add the file to epoll, where FUSE could block all of it.
func reopen(fd int, name string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
	n, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), flags, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(n, false); err != nil {
		unix.Close(n)
		return nil, err
	}
	return os.NewFile(uintptr(n), name), nil
}

// kernelFileSystems are from include/uapi/linux/magic.h.
var kernelFileSystems = map[int64]bool{
	unix.PROC_SUPER_MAGIC: true, unix.SYSFS_MAGIC: true, unix.DEBUGFS_MAGIC: true, unix.TRACEFS_MAGIC: true,
	unix.SECURITYFS_MAGIC: true, unix.CGROUP_SUPER_MAGIC: true, unix.CGROUP2_SUPER_MAGIC: true,
	unix.BPF_FS_MAGIC: true, unix.SELINUX_MAGIC: true, unix.EFIVARFS_MAGIC: true, unix.BINFMTFS_MAGIC: true,
	unix.PSTOREFS_MAGIC: true, unix.DEVPTS_SUPER_MAGIC: true, unix.NSFS_MAGIC: true, 0x62656570: true, // configfs
}

// localFileSystems wait for a disk at most. Others (FUSE, network, overlays) can wait for another program.
var localFileSystems = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true,
	unix.RAMFS_MAGIC: true, unix.SQUASHFS_MAGIC: true, unix.EROFS_SUPER_MAGIC_V1: true, unix.F2FS_SUPER_MAGIC: true,
	unix.HUGETLBFS_MAGIC: true, unix.MSDOS_SUPER_MAGIC: true, unix.ISOFS_SUPER_MAGIC: true,
}

// Trust is the set of users whose files may name a process's frames: root, prywalk's user, and those listed. A file
// that others can write to is untrusted.
type Trust struct {
	UIDs []uint32 // in this process's user namespace
	// GIDs may have write permission: with umask 002 the user's own group has it.
	GIDs []uint32
}

func (t *Trust) check(st *unix.Stat_t) error {
	if t == nil {
		return nil
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() && !slices.Contains(t.UIDs, st.Uid) {
		return ErrNotTrusted
	}
	if st.Mode&unix.S_IWOTH != 0 || st.Mode&unix.S_IWGRP != 0 && st.Gid != 0 && !slices.Contains(t.GIDs, st.Gid) {
		return ErrNotTrusted
	}
	return nil
}
