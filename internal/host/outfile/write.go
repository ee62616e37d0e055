// SPDX-License-Identifier: Apache-2.0

// Package outfile writes prywalk's output files.
//
// A regular file is replaced in one step, with mode 0600. In a sticky world-writable directory (/tmp) another user's
// symbolic link is not followed: it would choose the file that root overwrites.
// Two programs that write one path replace each other's file; nothing locks it.
package outfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const mode = 0o600 // of new files: for the user only

// Replaceable reports whether path is or will be a regular file: no pipe, device, open file of prywalk (/dev/stdout),
// or "-".
func Replaceable(path string) bool {
	if path == "-" {
		return false
	}
	d, err := followLinks(path)
	if err != nil {
		return true // the write gives the error
	}
	defer d.close()
	return d.regular()
}

// Check returns the known reasons against writing to path; nil is no promise.
func Check(path string) error {
	if path == "-" {
		return nil
	}
	d, err := followLinks(path)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer d.close()
	if d.regular() {
		if err := unix.Faccessat(d.dir, ".", unix.W_OK|unix.X_OK, 0); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, &os.PathError{Op: "access", Path: filepath.Dir(path), Err: err})
		}
		return nil
	}
	if err := d.refused(); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// Precondition: the file exists and is not regular.
func (d *destination) refused() error {
	if d.inProc {
		return nil
	}
	switch d.st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return unix.EISDIR
	case unix.S_IFBLK:
		return ErrBlockDevice
	}
	foreign, err := d.foreign(&d.st)
	if foreign {
		err = ErrForeignFile
	}
	return err
}

// Write replaces the contents of the file at path by what write writes. The old or the new contents of a regular file
// are complete, even if the machine stops. "-" is the standard output. Pipes and character devices are written to.
func Write(path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(os.Stdout)
	}
	d, err := followLinks(path)
	if err != nil {
		return err
	}
	defer d.close()
	if d.regular() {
		return d.replace(path, write)
	}
	return d.into(path, write)
}

func (d *destination) into(path string, write func(io.Writer) error) error {
	if err := d.refused(); err != nil {
		return err
	}
	flags := unix.O_WRONLY | unix.O_CLOEXEC | unix.O_NOCTTY
	if !d.inProc {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat(d.dir, d.name, flags, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && !d.inProc && (st.Dev != d.st.Dev || st.Ino != d.st.Ino) {
		err = errChanged
	}
	if err == nil {
		err = write(f)
	}
	return errors.Join(err, f.Close())
}

// If prywalk is killed between link and rename, a temporary name stays.
func (d *destination) replace(path string, write func(io.Writer) error) error {
	f, name, err := create(d.dir, path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = write(f)
	if err == nil {
		err = f.Sync() // a close cannot lose what it stores
	}
	if err == nil && name == "" {
		name, err = link(f, d.dir)
	}
	if err == nil {
		err = unix.Renameat(d.dir, name, d.dir, d.name)
	}
	if err != nil {
		if name != "" {
			_ = unix.Unlinkat(d.dir, name, 0)
		}
		return err
	}
	syncDir(d.dir)
	return nil
}

// The file is nameless ("") if the file system supports that, else its name is unguessable. path is for errors.
func create(dir int, path string) (f *os.File, name string, err error) {
	fd, err := unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, mode)
	if err != nil { // EOPNOTSUPP, or another error of some file systems
		name = unguessable()
		fd, err = unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_RDWR|unix.O_CLOEXEC, mode)
	}
	if err != nil {
		return nil, "", &os.PathError{Op: "create a file in", Path: filepath.Dir(path), Err: err}
	}
	return os.NewFile(uintptr(fd), path), name, nil
}

func link(f *os.File, dir int) (string, error) {
	name := unguessable()
	// AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH before Linux 6.10 (open(2), O_TMPFILE)
	from := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if err := unix.Linkat(unix.AT_FDCWD, from, dir, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return "", &os.PathError{Op: "link", Path: f.Name(), Err: err}
	}
	return name, nil
}

func unguessable() string { return ".prywalk-" + rand.Text() + ".tmp" }

func syncDir(dir int) {
	if fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		_ = unix.Fsync(fd)
		unix.Close(fd)
	}
}

// TempFile makes a nameless file in dir.
func TempFile(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	f, name, err := create(fd, filepath.Join(dir, "unnamed"))
	if err == nil && name != "" {
		err = unix.Unlinkat(fd, name, 0)
	}
	return f, err
}
