package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

var errNotRegular = errors.New("not a regular file")

// openRegular opens a file for reading. What a target calls its file can be a pipe
// or a device by now, whose mere opening waits or does something; so the name is
// resolved first, and opened only if a regular file is there.
func openRegular(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	return reopen(fd, path)
}

// openIn is openRegular for a path as seen below the directory root, whose symbolic
// links do not lead out of it.
func openIn(root, path string) (*os.File, error) {
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 5.6, or a filter
		return openRegular(root + path)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root + path, Err: err}
	}
	defer unix.Close(fd)
	return reopen(fd, root+path)
}

// reopen turns an O_PATH descriptor into a file.
func reopen(fd int, name string) (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &os.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	n, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(n), name), nil
}

// openMapped opens the file that a mapping shows, by the ways that the kernel
// offers: the mapping's own link, which gives the very file even if it has lost its
// name; the link to the program; the path in the process's root directory; the
// path in ours. The last two can meanwhile lead to another file, which is checked.
func (p *Process) openMapped(m *Mapping) (*os.File, error) {
	if f := p.openLink(m); f != nil {
		return f, nil
	}
	path := m.Path
	if !strings.HasPrefix(path, "/") {
		return nil, os.ErrNotExist
	}
	exe := procFS.path(p.tid, "exe")
	if to, err := os.Readlink(exe); err == nil && strings.TrimSuffix(to, " (deleted)") == path {
		if f, err := openRegular(exe); err == nil && p.accept(f, m) {
			return f, nil
		}
	}
	f, err := openIn(procFS.path(p.tid, "root"), path)
	if err == nil && p.accept(f, m) {
		return f, nil
	}
	if g, err := openRegular(path); err == nil && p.accept(g, m) {
		return g, nil
	}
	return nil, errors.Join(fmt.Errorf("%s: %w", path, errFileGone), err)
}

// openLink opens /proc/PID/map_files/START-END, which needs CAP_SYS_ADMIN or
// CAP_CHECKPOINT_RESTORE in the first user namespace.
func (p *Process) openLink(m *Mapping) *os.File {
	if p.noLinks {
		return nil
	}
	f, err := openRegular(procFS.path(p.tid, fmt.Sprintf("map_files/%x-%x", m.Start, m.End)))
	if err != nil {
		p.noLinks = errors.Is(err, unix.EPERM) // EACCES would be about this file
		return nil
	}
	return f
}

// accept reports whether f is the file that m shows, and closes it if not. Device
// and inode decide where they agree. Where they do not, which overlay file systems
// and btrfs cause for one and the same file, the contents do.
func (p *Process) accept(f *os.File, m *Mapping) bool {
	id, err := identify(f)
	if err == nil && (id.dev == m.Dev && id.inode == m.Inode || p.sameContents(f, m)) {
		return true
	}
	_ = f.Close() // it was not even read
	return false
}

// sameContents compares the ELF header and the program headers, the build id that
// usually follows them, and the start and the middle of the mapping.
func (p *Process) sameContents(f *os.File, m *Mapping) bool { return sameContents(p, f, m) }

func sameContents(o owner, f io.ReaderAt, m *Mapping) bool {
	mem := newMemFile(o, m)
	if mem == nil {
		return false
	}
	compared := false
	for _, off := range []uint64{0, m.Offset, m.Offset + (m.End-m.Start)/2&^0xfff} {
		var a, b [1024]byte
		n, err := mem.ReadAt(a[:], int64(off))
		if err != nil && n == 0 {
			continue
		}
		k, err := f.ReadAt(b[:n], int64(off))
		if k == 0 && err != nil || !bytes.Equal(a[:k], b[:k]) {
			return false
		}
		compared = true
	}
	return compared
}
