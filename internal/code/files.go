// SPDX-License-Identifier: Apache-2.0

package code

import (
	"errors"
	"path"
	"strconv"

	"prywalk/internal/elffile"
	"prywalk/internal/process"
	"prywalk/internal/stranger"

	"golang.org/x/sys/unix"
)

// Files opens what tells about a process's code: debug files and perf maps. A file is
// opened only if its owner may decide what the process's frames are called: root, who
// runs prywalk, the process's user, or the owner of its program.
type Files struct {
	PID    int
	tid    int // a live thread; 0: the first
	opener stranger.Opener
	trust  *stranger.Trust
}

// inRoot asks for a file as the process sees it.
func (f *Files) inRoot(name string) stranger.Request {
	tid := f.tid
	if tid == 0 {
		tid = f.PID
	}
	return stranger.Request{Root: process.Path(tid, "root"), Path: name}
}

// trusted says whose files may name frames. It is found out once; what a process is
// after an exec that changes its user does not count.
func (f *Files) trusted() *stranger.Trust {
	if f.trust != nil {
		return f.trust
	}
	f.trust = &stranger.Trust{}
	if st, err := process.ReadStatus("/proc", f.PID); err == nil {
		f.trust.UIDs = append(f.trust.UIDs, uint32(st.UID[0]), uint32(st.UID[1]))
		f.trust.GIDs = append(f.trust.GIDs, uint32(st.GID[0]), uint32(st.GID[1]))
	}
	exe := stranger.Request{Path: process.Path(f.PID, "exe"), Kernel: true}
	if g, err := f.opener.Open(exe); err == nil {
		f.trust.UIDs = append(f.trust.UIDs, g.UID())
		_ = g.Close() // it was not even read
	}
	return f.trust
}

// Debug opens a debug file: below the process's root directory, or where it runs in a
// container that has none, on this machine. The build id or checksum is compared by the
// caller.
func (f *Files) Debug(name string) (*stranger.File, error) {
	r := f.inRoot(name)
	r.Trust = f.trusted()
	g, err := f.opener.Open(r)
	if err == nil || errors.Is(err, stranger.ErrStuck) {
		return g, err
	}
	return f.opener.Open(stranger.Request{Path: name, Trust: r.Trust})
}

// opener opens a file by its path as the process sees it.
type opener func(path string) (*stranger.File, error)

// separate are the files that tell more of an image than it does itself. They are its debug file, found by build id
// or by .gnu_debuglink, and the small one that it embeds (.gnu_debugdata). They are opened at the first question
// that the image has no answer to, and never if there is none: most programs are walked without them.
type separate struct {
	elf   *elffile.File
	path  string
	open  opener // nil: no debug file is looked for
	files *filePool
	tried bool
	found []*elffile.File
	// opened are those of them that are files of their own.
	opened []*pooledFile
}

// all gives them, the debug file first.
func (s *separate) all() []*elffile.File {
	if s == nil || s.elf == nil || s.tried {
		return s.list()
	}
	s.tried = true
	if s.open != nil {
		for _, p := range s.elf.DebugPaths(s.path) {
			if f := s.try(p); f != nil {
				s.found = append(s.found, f)
				break
			}
		}
	}
	if mini, err := s.elf.MiniDebug(); err == nil {
		s.found = append(s.found, mini)
	}
	return s.found
}

// rest closes them. They are looked for anew when they are needed.
func (s *separate) rest() {
	for _, f := range s.found {
		if f.Memory() != s.elf.Memory() { // one that is embedded shares the file's
			f.Release()
		}
	}
	for _, h := range s.opened {
		s.files.drop(h)
	}
	s.tried, s.found, s.opened = false, nil, nil
}

func (s *separate) list() []*elffile.File {
	if s == nil {
		return nil
	}
	return s.found
}

// try opens a debug file; nil if it is not there or belongs to another build.
func (s *separate) try(path string) *elffile.File {
	f, err := s.open(path)
	if err != nil {
		return nil
	}
	h := s.files.add(f)
	debug, err := elffile.OpenIn(s.elf.Memory().Budget(), h, f.Size())
	if err == nil {
		debug.Memory().Rename(path)
		err = s.elf.CheckDebug(debug, h, f.Size())
	}
	if err != nil {
		debug.Release()
		s.files.drop(h)
		return nil
	}
	s.opened = append(s.opened, h)
	return debug
}

// PerfMap opens /tmp/perf-PID.map as the process sees it: below its root, by the number
// that it has in its own pid namespace. A symbolic link is not followed. One that is older
// than the process is not opened: an earlier process of this number has left it. Numbers
// come again after 32,768 processes on small machines, and a container that is started
// again has the same numbers each time.
func (f *Files) PerfMap() (*stranger.File, error) {
	inside, since := f.PID, int64(0)
	if st, err := process.ReadStatus("/proc", f.PID); err == nil {
		if len(st.NSPids) > 0 {
			inside = st.NSPids[len(st.NSPids)-1]
		}
		since = startedAt(st.Start)
	}
	r := f.inRoot(perfMapName(inside))
	r.Trust, r.NoLink, r.Since = f.trusted(), true, since
	g, err := f.opener.Open(r)
	if err == nil || errors.Is(err, stranger.ErrStuck) || errors.Is(err, stranger.ErrNotTrusted) ||
		errors.Is(err, stranger.ErrOutdated) {
		return g, err
	}
	r.Root, r.Path = "", perfMapName(f.PID)
	return f.opener.Open(r)
}

// startedAt gives a start in clock ticks after boot as CLOCK_REALTIME has it, in nanoseconds. It is one second early:
// file times are up to a clock tick behind, and the clock may have been set by a little since. 0: not known.
func startedAt(ticks uint64) int64 {
	var boot, now unix.Timespec
	if ticks == 0 || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil ||
		unix.ClockGettime(unix.CLOCK_REALTIME, &now) != nil {
		return 0
	}
	const perSecond = 100 // USER_HZ, on all architectures that are supported
	return now.Nano() - boot.Nano() + int64(ticks)*(1e9/perSecond) - 1e9
}

func perfMapName(pid int) string { return path.Join("/tmp", "perf-"+strconv.Itoa(pid)+".map") }
