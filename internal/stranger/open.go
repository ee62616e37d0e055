// SPDX-License-Identifier: Apache-2.0

package stranger

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Why a file is not opened.
var (
	// ErrNotRegular: a pipe, a device, a directory, or a file of the kernel's own.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotTrusted: it belongs to somebody, or can be written by somebody, who has no say here.
	ErrNotTrusted = errors.New("other users may have written it")
	// ErrOutdated: it was last written before the time that was asked for.
	ErrOutdated = errors.New("it is older than the process it describes")
	// ErrTooLarge: over the size that was asked for.
	ErrTooLarge = errors.New("the file is too large")
	// ErrStuck: it did not answer in time, or one before it did not.
	ErrStuck = errors.New("the file system does not answer")
)

// Request says which file to open.
type Request struct {
	// Root is the directory that is "/" for Path and for all links on the way; "" is "/".
	Root string
	// Path is the file, as seen from Root.
	Path string
	// Beneath: a path that leads out of Root is an error, instead of ending at Root.
	Beneath bool
	// Kernel: Path is a link of the kernel's to an open or mapped file (/proc/PID/exe), and is followed
	// wherever it leads. Root is not used.
	Kernel bool
	// NoLink: the last part of Path must not be a symbolic link.
	NoLink bool
	// Trust says whose files are opened; nil: everybody's, because the contents are checked.
	Trust *Trust
	// Since is when the file must have been written last, or later, in nanoseconds of CLOCK_REALTIME; 0: whenever.
	Since int64
	// MaxSize is the most bytes that the file may have; 0: any number.
	MaxSize int64
}

// name is what messages call the file.
func (r *Request) name() string {
	if r.Kernel || r.Root == "" || r.Root == "/" {
		return r.Path
	}
	return r.Root + "/" + strings.TrimPrefix(r.Path, "/")
}

// Opener opens files on behalf of one process, or one user's wish. Its zero value is ready. It may be used
// by several goroutines.
type Opener struct{ account account }

// Open opens a file for reading. The error is, or wraps, one of those above or what the kernel said.
func (o *Opener) Open(r Request) (*File, error) {
	f, err := wait(&o.account, func() (*File, error) {
		var m *mounts // nil: FUSE is not told apart
		if len(Copier) > 0 {
			m = mountsFor(&r)
		}
		return open(o, r, m)
	}, func(f *File) { f.f.Close() })
	if errors.Is(err, errFUSE) {
		f, err = o.fetch(r)
	}
	if err != nil {
		remark(r.name(), err)
		return nil, &os.PathError{Op: "open", Path: r.name(), Err: err}
	}
	return f, nil
}

// open does it; it may wait for ever.
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
	case f.st.Mode&unix.S_IFMT != unix.S_IFREG, kernels[fs.Type]:
		return nil, ErrNotRegular
	case r.MaxSize > 0 && f.st.Size > r.MaxSize:
		return nil, ErrTooLarge
	}
	if err := r.Trust.check(&f.st); err != nil {
		return nil, err
	}
	if f.st.Mtim.Nano() < r.Since {
		return nil, ErrOutdated
	}
	f.slow = !local[fs.Type]
	if f.f, err = reopen(fd, r.name()); err != nil {
		return nil, err
	}
	return f, nil
}

// reopen turns an O_PATH descriptor into a file that can be read. It is the very file that was looked at.
// Without O_NONBLOCK, a lease that its owner does not give back would hold the open up (fcntl(2), F_SETLEASE).
// Afterwards the flag goes: the runtime would hand the file to epoll, where FUSE could hold up everybody.
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

// kernels are file systems whose files are the kernel's own (include/uapi/linux/magic.h).
var kernels = map[int64]bool{
	unix.PROC_SUPER_MAGIC: true, unix.SYSFS_MAGIC: true, unix.DEBUGFS_MAGIC: true, unix.TRACEFS_MAGIC: true,
	unix.SECURITYFS_MAGIC: true, unix.CGROUP_SUPER_MAGIC: true, unix.CGROUP2_SUPER_MAGIC: true,
	unix.BPF_FS_MAGIC: true, unix.SELINUX_MAGIC: true, unix.EFIVARFS_MAGIC: true, unix.BINFMTFS_MAGIC: true,
	unix.PSTOREFS_MAGIC: true, unix.DEVPTS_SUPER_MAGIC: true, unix.NSFS_MAGIC: true, 0x62656570: true, // configfs
}

// local are file systems that wait for a disk at most. Others (FUSE, network file systems, and overlays,
// which can lie over those) can wait for another program.
var local = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true,
	unix.RAMFS_MAGIC: true, unix.SQUASHFS_MAGIC: true, unix.EROFS_SUPER_MAGIC_V1: true, unix.F2FS_SUPER_MAGIC: true,
	unix.HUGETLBFS_MAGIC: true, unix.MSDOS_SUPER_MAGIC: true, unix.ISOFS_SUPER_MAGIC: true,
}
