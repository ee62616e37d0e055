// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// errFUSE: a FUSE file system is on the path.
var errFUSE = errors.New("a FUSE file system is on the way")

// mounts are the mounts on a path, by id.
type mounts struct {
	fuse map[uint64]bool // false: another file system
	any  bool            // there is a FUSE file system
	more []string        // lists to read if an id is unknown so far; ids are unique
}

// mountsFor reads the mounts of this process and of the one in whose root the path is.
func mountsFor(r *Request) *mounts {
	m := &mounts{fuse: map[uint64]bool{}}
	m.read("/proc/self/mountinfo")
	at := r.Root
	if r.Kernel {
		at = r.Path
	}
	for ; len(at) > len("/proc/"); at = filepath.Dir(at) {
		switch file := at + "/mountinfo"; {
		case filepath.Dir(at) != "/proc":
		case r.Kernel: // only the file's own mount is checked, mostly one of this process's
			m.more = append(m.more, file)
		default:
			m.read(file)
		}
	}
	// A process's list shows mounts below its root: not the one that contains a chroot directory.
	m.more = append(m.more, "/proc/1/mountinfo")
	return m
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
		is := bytes.HasPrefix(kind, []byte("fuse")) && !bytes.HasPrefix(kind, []byte("fusectl "))
		m.fuse[n] = is
		m.any = m.any || is
	}
}

// check gives errFUSE for an O_PATH descriptor on a FUSE file system, or on an unknown mount. No file system is
// accessed.
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
		is, known := m.fuse[st.Mnt_id]
		switch {
		case known && !is:
			return nil
		case known || len(m.more) == 0:
			return errFUSE
		}
		m.read(m.more[0])
		m.more = m.more[1:]
	}
	return errFUSE
}
