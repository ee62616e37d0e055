// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Why a destination is refused.
var (
	ErrForeignLink = errors.New("it is another user's symbolic link in a directory that all users can write to")
	ErrForeignFile = errors.New("it is another user's pipe or device in a directory that all users can write to")
	ErrBlockDevice = errors.New("it is a block device") // a disk's contents would be lost
	errChanged     = errors.New("it was replaced while being opened")
)

// maxLinks is MAXSYMLINKS (include/linux/namei.h).
const maxLinks = 40

// The file is checked through the open directory, so that it cannot be replaced unnoticed.
type destination struct {
	dir    int // O_PATH
	name   string
	st     unix.Stat_t
	exists bool
	inProc bool // links in a proc file system lead to open files
}

func (d *destination) close() { unix.Close(d.dir) }

func (d *destination) regular() bool {
	return !d.inProc && (!d.exists || d.st.Mode&unix.S_IFMT == unix.S_IFREG)
}

// followLinks follows links of path's last part by the kernel's rule for sticky world-writable directories (fs/namei.c,
// may_follow_link), whatever fs.protected_symlinks is. The caller closes the destination.
func followLinks(path string) (*destination, error) {
	at := unix.AT_FDCWD
	for range maxLinks {
		d, err := openParent(at, path)
		if at != unix.AT_FDCWD {
			unix.Close(at)
		}
		if err != nil {
			return nil, err
		}
		if !d.exists || d.inProc || d.st.Mode&unix.S_IFMT != unix.S_IFLNK {
			return d, nil
		}
		if path, err = d.follow(); err != nil {
			d.close()
			return nil, err
		}
		at = d.dir
	}
	unix.Close(at)
	return nil, unix.ELOOP
}

func openParent(at int, path string) (*destination, error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	if name == "" || name == "." || name == ".." {
		dir, name = path, "."
	}
	fd, err := unix.Openat(at, dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Clean(dir), Err: err}
	}
	d := &destination{dir: fd, name: name}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err == nil {
		d.inProc = fs.Type == unix.PROC_SUPER_MAGIC
	}
	switch err := unix.Fstatat(fd, name, &d.st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
		d.exists = true
	case unix.ENOENT:
	default:
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *destination) follow() (string, error) {
	fd, err := unix.Openat(d.dir, d.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", errChanged
	}
	if foreign, err := d.foreign(&st); err != nil || foreign {
		return "", errors.Join(err, ErrForeignLink)
	}
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// foreign reports whether an entry of the directory, if that is sticky and world-writable, is neither prywalk's user's
// nor the directory's owner's.
func (d *destination) foreign(st *unix.Stat_t) (bool, error) {
	var dir unix.Stat_t
	if err := unix.Fstat(d.dir, &dir); err != nil {
		return false, err
	}
	const open = unix.S_ISVTX | unix.S_IWOTH
	return dir.Mode&open == open && st.Uid != uint32(os.Geteuid()) && st.Uid != dir.Uid, nil
}
