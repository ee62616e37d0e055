// SPDX-License-Identifier: Apache-2.0

package code

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/process"
	"prywalk/internal/stranger"
)

// openMapped opens the file that a mapping shows, by the ways that the kernel offers. First comes the mapping's own
// link, which gives the very file even if it has lost its name. The link to the program; the path in the process's
// root directory; the path in ours. The last two can meanwhile lead to another file, which is checked.
func (p *Process) openMapped(m *Mapping) (*stranger.File, error) {
	f, err := p.openLink(m)
	if err == nil || errors.Is(err, stranger.ErrStuck) {
		return f, err
	}
	path := m.Path
	if !strings.HasPrefix(path, "/") {
		return nil, os.ErrNotExist
	}
	ways := []stranger.Request{p.files.inRoot(path), {Path: path}}
	exe := process.Path(p.MemoryTID(), "exe")
	if to, err := os.Readlink(exe); err == nil && strings.TrimSuffix(to, " (deleted)") == path {
		ways = append([]stranger.Request{{Path: exe, Kernel: true}}, ways...)
	}
	err = fmt.Errorf("%s: %w", path, errFileGone)
	for _, way := range ways {
		f, failed := p.files.opener.Open(way)
		if failed == nil && p.accept(f, m) {
			return f, nil
		}
		if err = errors.Join(err, failed); errors.Is(failed, stranger.ErrStuck) {
			break
		}
	}
	return nil, err
}

// openLink opens /proc/PID/map_files/START-END, which needs CAP_SYS_ADMIN or
// CAP_CHECKPOINT_RESTORE in the first user namespace.
func (p *Process) openLink(m *Mapping) (*stranger.File, error) {
	if p.noLinks {
		return nil, unix.EPERM
	}
	link := process.Path(p.MemoryTID(), fmt.Sprintf("map_files/%x-%x", m.Start, m.End))
	f, err := p.files.opener.Open(stranger.Request{Path: link, Kernel: true})
	p.noLinks = errors.Is(err, unix.EPERM) // EACCES would be about this file
	return f, err
}

// accept reports whether f is the file that m shows, and closes it if not. Device
// and inode decide where they agree. Where they do not, which overlay file systems
// and btrfs cause for one and the same file, the contents do.
func (p *Process) accept(f *stranger.File, m *Mapping) bool {
	id := f.ID()
	if id.Dev == m.Dev && id.Inode == m.Inode || SameContents(p, f, m) {
		return true
	}
	_ = f.Close() // it was not even read
	return false
}

// SameContents compares the ELF header and the program headers, the build id that
// usually follows them, and the start and the middle of the mapping.
func SameContents(o AddressSpace, f io.ReaderAt, m *Mapping) bool {
	mem := NewMemFile(o, m)
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
