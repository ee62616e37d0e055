// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

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

var errFUSE = errors.New("a FUSE file system is on the way")

type mounts struct {
	own     map[uint64]bool // this process's; shared
	fuse    map[uint64]bool // of other lists
	anyFUSE bool
	unread  []string // lists to read for an unknown id; ids are unique
}

func mountsFor(r *Request) *mounts {
	m := &mounts{fuse: map[uint64]bool{}}
	ownMountList.addTo(m)
	at := r.Root
	if r.Kernel {
		at = r.Path
	}
	for ; len(at) > len("/proc/"); at = filepath.Dir(at) {
		switch file := at + "/mountinfo"; {
		case filepath.Dir(at) != "/proc":
		case r.Kernel: // only the file's own mount is checked, mostly this process's
			m.unread = append(m.unread, file)
		case !sharesMounts(at):
			m.read(file)
		}
	}
	// A process's list omits the mount that contains a chroot directory.
	m.unread = append(m.unread, "/proc/1/mountinfo")
	return m
}

func sharesMounts(process string) bool {
	var its, ours unix.Stat_t
	return unix.Stat(process+"/ns/mnt", &its) == nil && unix.Stat("/proc/self/ns/mnt", &ours) == nil &&
		its.Ino == ours.Ino && its.Dev == ours.Dev
}

var ownMountList ownMounts

type ownMounts struct {
	mu   sync.Mutex
	fd   int // of mountinfo; 0 means not open
	list mounts
}

func (o *ownMounts) addTo(m *mounts) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.unchanged() {
		o.list = mounts{fuse: map[uint64]bool{}}
		o.list.read(selfMounts)
	}
	m.own, m.anyFUSE = o.list.fuse, o.list.anyFUSE
}

const selfMounts = "/proc/self/mountinfo"

// unchanged compares with the last call (proc_pid_mounts(5)). The descriptor is no os.File: the Go runtime's poll would
// take the event.
func (o *ownMounts) unchanged() bool {
	if o.fd == 0 {
		if fd, err := unix.Open(selfMounts, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			o.fd = fd
		}
		return false
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(o.fd), Events: unix.POLLPRI}}, 0)
	return err == nil && n == 0
}

// read adds a list: the id is first, the type after a lone dash (proc_pid_mountinfo(5)).
func (m *mounts) read(file string) {
	text, _ := os.ReadFile(file) // without it, less is known
	for line := range bytes.Lines(text) {
		id, _, _ := bytes.Cut(line, []byte(" "))
		n, err := strconv.ParseUint(string(id), 10, 64)
		_, kind, ok := bytes.Cut(line, []byte(" - "))
		if err != nil || !ok {
			continue
		}
		isFUSE := bytes.HasPrefix(kind, []byte("fuse")) && !bytes.HasPrefix(kind, []byte("fusectl "))
		m.fuse[n] = isFUSE
		m.anyFUSE = m.anyFUSE || isFUSE
	}
}

// check returns errFUSE for an O_PATH descriptor on FUSE, or on an unknown mount. It does not access the descriptor's
// file system.
func (m *mounts) check(fd int) error {
	if m == nil {
		return nil
	}
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	if err == unix.ENOSYS || err == nil && st.Mask&unix.STATX_MNT_ID == 0 { // before Linux 5.8
		return nil
	}
	for err == nil {
		isFUSE, known := m.own[st.Mnt_id]
		if !known {
			isFUSE, known = m.fuse[st.Mnt_id]
		}
		switch {
		case known && !isFUSE:
			return nil
		case known || len(m.unread) == 0:
			return errFUSE
		}
		m.read(m.unread[0])
		m.unread = m.unread[1:]
	}
	return errFUSE
}
