package code

import (
	"errors"

	"prywalk/internal/process"
	"prywalk/internal/stranger"
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
