// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/process"
	"prywalk/internal/host/safeopen"
)

// Image implements AddressSpace; nil also if the file cannot be read in time.
func (p *Process) Image(m *Mapping) *Image {
	key := fileKey{m.Dev, m.Inode, m.Path}
	if img, ok := p.cache.current(key); ok {
		return img
	}
	f, err := p.openMapped(m)
	if img := p.cache.byName[key]; err != nil && img != nil {
		return img
	}
	if errors.Is(err, safeopen.ErrStuck) {
		m.Unresponsive = true
		return nil
	}
	if err != nil {
		img := MemoryImage(NewMemFile(p, m), m)
		if img != nil {
			p.cache.inMemory = append(p.cache.inMemory, img)
		}
		p.cache.DebugFiles(img, p.files.Debug)
		return img
	}
	img, err := p.cache.Load(f, m)
	p.cache.DebugFiles(img, p.files.Debug)
	if err == nil {
		p.cache.setName(key, img)
	}
	return img
}

// openMapped opens a mapping's file by its map_files link, else /proc/PID/exe or its path, if the contents are the
// mapping's.
func (p *Process) openMapped(m *Mapping) (*safeopen.File, error) {
	f, err := p.openLink(m)
	if err == nil || errors.Is(err, safeopen.ErrStuck) {
		return f, err
	}
	path := m.Path
	if !strings.HasPrefix(path, "/") {
		return nil, os.ErrNotExist
	}
	ways := []safeopen.Request{p.files.requestInRoot(path), {Path: path}}
	exe := process.Path(p.MemoryTID(), "exe")
	if to, err := os.Readlink(exe); err == nil && strings.TrimSuffix(to, " (deleted)") == path {
		ways = append([]safeopen.Request{{Path: exe, Kernel: true}}, ways...)
	}
	err = fmt.Errorf("%s: %w", path, errFileGone)
	for _, way := range ways {
		f, failed := p.files.opener.Open(way)
		if failed == nil {
			if p.isFileOf(f, m) {
				return f, nil
			}
			_ = f.Close()
		}
		if err = errors.Join(err, failed); errors.Is(failed, safeopen.ErrStuck) {
			break
		}
	}
	return nil, err
}

// openLink needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE in the initial user namespace.
func (p *Process) openLink(m *Mapping) (*safeopen.File, error) {
	if p.noLinks {
		return nil, unix.EPERM
	}
	link := process.Path(p.MemoryTID(), fmt.Sprintf("map_files/%x-%x", m.Start, m.End))
	f, err := p.files.opener.Open(safeopen.Request{Path: link, Kernel: true})
	p.noLinks = errors.Is(err, unix.EPERM) // EACCES: this file only
	return f, err
}

// isFileOf compares contents, too: with overlay file systems and btrfs, devices and inodes can differ.
func (p *Process) isFileOf(f *safeopen.File, m *Mapping) bool {
	id := f.ID()
	return id.Dev == m.Dev && id.Inode == m.Inode || SameContents(p, f, f.Size(), m)
}
