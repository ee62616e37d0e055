// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/safeopen"

	"golang.org/x/sys/unix"
)

// TrustedFiles opens debug files and perf maps of trusted owners: root, prywalk's user, the process's user, its
// program's owner.
type TrustedFiles struct {
	PID    int
	tid    int // a live thread's; 0 means the first one, PID
	opener safeopen.Opener
	trust  *safeopen.Trust
	since  int64 // the process's start, in nanoseconds of CLOCK_REALTIME; 0 means unknown
}

func (f *TrustedFiles) requestInRoot(name string) safeopen.Request {
	tid := f.tid
	if tid == 0 {
		tid = f.PID
	}
	return safeopen.Request{Root: process.Path(tid, "root"), Path: name}
}

func (f *TrustedFiles) trusted() *safeopen.Trust {
	if f.trust == nil {
		f.renewTrust()
	}
	return f.trust
}

// renewTrust keeps what is known of a process that has ended.
func (f *TrustedFiles) renewTrust() {
	trust := &safeopen.Trust{}
	st, err := process.ReadStatus("/proc", f.PID)
	if err == nil {
		trust.UIDs = append(trust.UIDs, st.UID[:2]...)
		trust.GIDs = append(trust.GIDs, st.GID[:2]...)
	}
	exe, exeErr := f.opener.Open(safeopen.Request{Path: process.Path(f.PID, "exe"), Kernel: true})
	if exeErr == nil {
		trust.UIDs = append(trust.UIDs, exe.UID())
		_ = exe.Close()
	}
	if f.trust == nil || err == nil && exeErr == nil { // a zombie has no program
		f.trust = trust
	}
}

// Debug opens a debug file below the process's root, else below prywalk's. The caller compares build id or checksum.
func (f *TrustedFiles) Debug(name string) (*safeopen.File, error) {
	r := f.requestInRoot(name)
	r.Trust = f.trusted()
	g, err := f.opener.Open(r)
	if err == nil || errors.Is(err, safeopen.ErrStuck) {
		return g, err
	}
	return f.opener.Open(safeopen.Request{Path: name, Trust: r.Trust})
}

// PerfMap opens /tmp/perf-PID.map below the process's root (PID in its pid namespace), else below prywalk's. It refuses
// a link, and a file older than the process.
func (f *TrustedFiles) PerfMap() (*safeopen.File, error) {
	f.renewTrust() // the process may have another user or program by now
	inside := f.PID
	if st, err := process.ReadStatus("/proc", f.PID); err == nil {
		if st.NSpidN > 0 {
			inside = st.NSpid[st.NSpidN-1]
		}
		f.since = startedAt(st.Start)
	}
	r := f.requestInRoot(perfMapName(inside))
	r.Trust, r.NoLink, r.Since = f.trusted(), true, f.since
	g, err := f.opener.Open(r)
	if err == nil || errors.Is(err, safeopen.ErrStuck) || errors.Is(err, safeopen.ErrNotTrusted) ||
		errors.Is(err, safeopen.ErrOutdated) {
		return g, err
	}
	r.Root, r.Path = "", perfMapName(f.PID)
	return f.opener.Open(r)
}

// startedAt converts clock ticks since boot to nanoseconds of CLOCK_REALTIME, less one second of tolerance; it returns
// 0 if it is unknown.
func startedAt(ticks uint64) int64 {
	var boot, now unix.Timespec
	if ticks == 0 || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil ||
		unix.ClockGettime(unix.CLOCK_REALTIME, &now) != nil {
		return 0
	}
	return now.Nano() - boot.Nano() + int64(ticks)*procmem.ClockTick - 1e9
}

func perfMapName(pid int) string { return path.Join("/tmp", "perf-"+strconv.Itoa(pid)+".map") }

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

// openMapped opens a mapping's file by its map_files link, else /proc/PID/exe or its path, if the contents agree.
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
