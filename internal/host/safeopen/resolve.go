// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"cmp"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// resolve opens a file with O_PATH, which has no effect on it. It returns errFUSE instead of an access to FUSE.
func resolve(r *Request, m *mounts) (int, error) {
	if r.Kernel {
		fd, err := unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			if err = m.check(fd); err != nil {
				unix.Close(fd)
			}
		}
		return fd, err
	}
	dir, err := unix.Open(cmp.Or(r.Root, "/"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	if m != nil && !m.anyFUSE {
		m = nil
	}
	return walk(dir, r, m)
}

// maxLinks is the kernel's MAXSYMLINKS.
const maxLinks = 40

// walk opens one element of the path after the other, and reads links itself. ".." returns to the open directory from
// which it came: a concurrent rename has no effect.
func walk(root int, r *Request, m *mounts) (int, error) {
	if r.Beneath && path.IsAbs(r.Path) {
		return -1, unix.EXDEV
	}
	if err := m.check(root); err != nil {
		return -1, err
	}
	w := walker{root: root, noLink: r.NoLink, mounts: m}
	defer w.close(0)
	todo := strings.Split(r.Path, "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(w.dirs) == 0 && r.Beneath {
				return -1, unix.EXDEV
			}
			w.close(max(len(w.dirs)-1, 0))
			continue
		}
		to, err := w.enter(part, len(todo) == 0)
		if err != nil {
			return -1, err
		}
		if to == "" {
			continue
		}
		if links++; links > maxLinks {
			return -1, unix.ELOOP
		}
		if path.IsAbs(to) {
			if r.Beneath {
				return -1, unix.EXDEV
			}
			w.close(0)
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return unix.FcntlInt(uintptr(w.at()), unix.F_DUPFD_CLOEXEC, 0)
}

type walker struct {
	root   int
	dirs   []int
	noLink bool
	mounts *mounts
}

func (w *walker) at() int {
	if len(w.dirs) == 0 {
		return w.root
	}
	return w.dirs[len(w.dirs)-1]
}

func (w *walker) close(n int) {
	for _, fd := range w.dirs[n:] {
		unix.Close(fd)
	}
	w.dirs = w.dirs[:n]
}

func (w *walker) enter(part string, last bool) (link string, err error) {
	fd, err := unix.Openat(w.at(), part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err = w.mounts.check(fd); err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		unix.Close(fd)
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK || last && w.noLink {
		w.dirs = append(w.dirs, fd)
		return "", nil
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || fs.Type == unix.PROC_SUPER_MAGIC {
		return "", unix.ELOOP // it may be a magic link
	}
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", buf[:])
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return string(buf[:n]), err
}
