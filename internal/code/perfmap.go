package code

import (
	"errors"
	"path"
	"strconv"

	"prywalk/internal/process"
	"prywalk/internal/stranger"
)

// PerfMap opens /tmp/perf-PID.map as the process sees it: below its root, by the number
// that it has in its own pid namespace. A symbolic link is not followed.
func (f *Files) PerfMap() (*stranger.File, error) {
	inside := f.PID
	if st, err := process.ReadStatus("/proc", f.PID); err == nil && len(st.NSPids) > 0 {
		inside = st.NSPids[len(st.NSPids)-1]
	}
	r := f.inRoot(perfMapName(inside))
	r.Trust, r.NoLink = f.trusted(), true
	g, err := f.opener.Open(r)
	if err == nil || errors.Is(err, stranger.ErrStuck) || errors.Is(err, stranger.ErrNotTrusted) {
		return g, err
	}
	r.Root, r.Path = "", perfMapName(f.PID)
	return f.opener.Open(r)
}

func perfMapName(pid int) string { return path.Join("/tmp", "perf-"+strconv.Itoa(pid)+".map") }
