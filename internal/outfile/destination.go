// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// What can be wrong with the place of an output.
var (
	// ErrForeignLink: another user's link in a directory that all users can write to.
	ErrForeignLink = errors.New("it is another user's symbolic link in a directory that all users can write to")
	// ErrForeignFile: another user's pipe or device in such a directory.
	ErrForeignFile = errors.New("it is another user's pipe or device in a directory that all users can write to")
	// ErrBlockDevice: what is on a disk would be lost.
	ErrBlockDevice = errors.New("it is a block device")
	// ErrChanged: something else has that name since a moment ago.
	ErrChanged = errors.New("it was replaced while being opened")
)

// maxLinks is how many links are followed, as in the kernel (MAXSYMLINKS, include/linux/namei.h).
const maxLinks = 40

// destination is where an output goes: a name in an open directory. What the name led to was looked at through
// that directory, so that nobody can put another one in its place.
type destination struct {
	dir    int // O_PATH
	name   string
	st     unix.Stat_t // of what has the name, if exists
	exists bool
	// magic: the directory is one of a proc file system, whose links lead to open files.
	magic bool
}

func (p *destination) close() { unix.Close(p.dir) }

// regular reports whether the output is, or will be, a regular file.
func (p *destination) regular() bool {
	return !p.magic && (!p.exists || p.st.Mode&unix.S_IFMT == unix.S_IFREG)
}

// find follows path to its place. The last part's links are followed here, by the kernel's rule for
// directories that are sticky and writable for all (may_follow_link in fs/namei.c), which is in force
// whatever fs.protected_symlinks says. The caller closes the place.
func find(path string) (*destination, error) {
	at := unix.AT_FDCWD
	for range maxLinks {
		p, err := enter(at, path)
		if at != unix.AT_FDCWD {
			unix.Close(at)
		}
		if err != nil {
			return nil, err
		}
		if !p.exists || p.magic || p.st.Mode&unix.S_IFMT != unix.S_IFLNK {
			return p, nil
		}
		if path, err = p.follow(); err != nil {
			p.close()
			return nil, err
		}
		at = p.dir
	}
	unix.Close(at)
	return nil, unix.ELOOP
}

// enter opens the directory of path, and looks at what has its last part's name.
func enter(at int, path string) (*destination, error) {
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
	p := &destination{dir: fd, name: name}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err == nil {
		p.magic = fs.Type == unix.PROC_SUPER_MAGIC
	}
	switch err := unix.Fstatat(fd, name, &p.st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
		p.exists = true
	case unix.ENOENT:
	default:
		p.close()
		return nil, err
	}
	return p, nil
}

// follow reads the link, which is held open meanwhile: the one whose owner was checked is the one read.
func (p *destination) follow() (string, error) {
	fd, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", ErrChanged
	}
	if foreign, err := p.foreign(&st); err != nil || foreign {
		return "", errors.Join(err, ErrForeignLink)
	}
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// foreign reports whether something in the place's directory was put there by a user who has no say here. Neither
// who runs prywalk nor the owner of the directory, which is sticky and writable for all.
func (p *destination) foreign(st *unix.Stat_t) (bool, error) {
	var dir unix.Stat_t
	if err := unix.Fstat(p.dir, &dir); err != nil {
		return false, err
	}
	const open = unix.S_ISVTX | unix.S_IWOTH
	return dir.Mode&open == open && st.Uid != uint32(os.Geteuid()) && st.Uid != dir.Uid, nil
}
