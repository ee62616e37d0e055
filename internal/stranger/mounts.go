// SPDX-License-Identifier: Apache-2.0

package stranger

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// errFUSE: the way to the file leads over a FUSE file system.
var errFUSE = errors.New("a FUSE file system is on the way")

// mounts are those that a request may meet, by their ids.
type mounts struct {
	fuse map[uint64]bool // false: another kind
	any  bool            // there is a FUSE file system
	more []string        // lists that are read if an id is in none so far: no two mounts have the same
}

// mountsFor reads the mounts of this process and of the one below whose root the request's path is.
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
		case r.Kernel: // only the mount of the file itself is asked about, mostly one of this process's, too
			m.more = append(m.more, file)
		default:
			m.read(file)
		}
	}
	// The list of a process shows what is mounted below its root: not the mount that a chroot directory lies in.
	m.more = append(m.more, "/proc/1/mountinfo")
	return m
}

// read adds the lines of a list: an id first, the kind after a lone dash (proc_pid_mountinfo(5)).
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

// check gives errFUSE for an O_PATH descriptor on a FUSE file system, or on one that is in no list. No file
// system is asked for that.
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
