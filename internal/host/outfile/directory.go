// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrShared means that other users could replace files in a directory, or the directory itself.
var ErrShared = errors.New("another user may change it")

// Directory is an open directory. Names have no slash.
type Directory struct {
	f *os.File
}

// OpenDirectory opens a directory whose files only this user and root can replace, and makes it and those above it
// unless they exist. Each directory and link on the
// way must belong to root or this user, and be writable by no other; so none can change the way while it is walked. On
// the way a directory may be sticky (/tmp): others cannot rename what is not theirs.
func OpenDirectory(path string) (*Directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	fd, err := walkPrivate(path)
	if err != nil {
		return nil, err
	}
	return &Directory{os.NewFile(uintptr(fd), path)}, nil
}

// HoldDirectory opens a directory in which others may make and replace files. That it stays the same one holds even if
// its path leads elsewhere later.
func HoldDirectory(path string) (*Directory, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &Directory{os.NewFile(uintptr(fd), path)}, nil
}

func walkPrivate(path string) (fd int, err error) {
	const way = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at, err := unix.Open("/", way, 0)
	if err != nil {
		return -1, err
	}
	defer func() { unix.Close(at) }()
	enter := func(name string) error {
		next, err := unix.Openat(at, name, way, 0)
		if err == nil {
			unix.Close(at)
			at = next
		}
		return err
	}
	links, walked := 0, "/"
	for parts := strings.Split(path, "/"); len(parts) > 0; {
		part := parts[0]
		if parts = parts[1:]; part == "" {
			continue
		}
		target, err := step(at, part)
		switch {
		case err != nil:
		case target == "":
			walked = filepath.Join(walked, part)
			err = enter(part)
		case links == maxLinks:
			err = unix.ELOOP
		default:
			links++
			if parts = append(strings.Split(target, "/"), parts...); target[0] == '/' {
				walked = "/"
				err = enter("/")
			}
		}
		if err != nil {
			return -1, &os.PathError{Op: "open " + part + " in", Path: walked, Err: err}
		}
	}
	if err := checkPrivate(at, false); err != nil {
		return -1, &os.PathError{Op: "use", Path: walked, Err: err}
	}
	return unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// step returns the target of a link that has the name in a directory on the way. It makes a directory if none has it.
func step(at int, name string) (target string, err error) {
	if err := checkPrivate(at, true); err != nil {
		return "", err
	}
	var st unix.Stat_t
	err = unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return "", unix.Mkdirat(at, name, 0o700)
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", err
	}
	if !ownedHere(&st) {
		return "", ErrShared
	}
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(at, name, buf[:])
	return string(buf[:max(n, 0)]), err
}

// checkPrivate checks an open directory; sticky allows a directory in which others can make files.
func checkPrivate(fd int, sticky bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if ownedHere(&st) && (onlyOwnerWrites(&st) || sticky && st.Mode&unix.S_ISVTX != 0) {
		return nil
	}
	return ErrShared
}

func ownedHere(st *unix.Stat_t) bool { return st.Uid == 0 || int(st.Uid) == os.Geteuid() }

// With umask 002 the user's own group may write.
func onlyOwnerWrites(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IWOTH == 0 && (st.Mode&unix.S_IWGRP == 0 || st.Gid == 0 || int(st.Gid) == os.Getegid())
}

// Close closes the directory.
func (d *Directory) Close() error { return d.f.Close() }

// TryLock locks the directory until it is closed, on file systems with such locks. It returns false if it is locked.
func (d *Directory) TryLock() bool {
	return unix.Flock(int(d.f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != unix.EWOULDBLOCK
}

// List returns the entries, by name.
func (d *Directory) List() ([]os.DirEntry, error) {
	if _, err := d.f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	list, err := d.f.ReadDir(-1)
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// Open opens a regular file of root or this user for reading, which no other user can change. It follows no link, and
// waits for no writer of a pipe.
func (d *Directory) Open(name string) (*os.File, error) {
	fd, err := unix.Openat(int(d.f.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: d.path(name), Err: err}
	}
	var st unix.Stat_t
	switch err = unix.Fstat(fd, &st); {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = errNotRegular
	case !ownedHere(&st) || !onlyOwnerWrites(&st):
		err = ErrShared
	default:
		return os.NewFile(uintptr(fd), d.path(name)), nil
	}
	unix.Close(fd)
	return nil, &os.PathError{Op: "open", Path: d.path(name), Err: err}
}

// errNotRegular means a link, a directory, a pipe or a device.
var errNotRegular = errors.New("it is no regular file")

// Write is [Write] for a file of the directory, which replaces whatever has the name.
func (d *Directory) Write(name string, write func(io.Writer) error) error {
	to := destination{dir: int(d.f.Fd()), name: name}
	return to.replace(d.path(name), write)
}

// Remove removes a file.
func (d *Directory) Remove(name string) error {
	if err := unix.Unlinkat(int(d.f.Fd()), name, 0); err != nil {
		return &os.PathError{Op: "remove", Path: d.path(name), Err: err}
	}
	return nil
}

// CheckWritable makes a file, which gets no name.
func (d *Directory) CheckWritable() error {
	f, name, err := create(int(d.f.Fd()), d.path("unnamed"))
	if err == nil && name != "" {
		err = d.Remove(name)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func (d *Directory) path(name string) string { return filepath.Join(d.f.Name(), name) }
