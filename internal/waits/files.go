// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"io"
	"os"
	"strconv"
	"strings"
)

// Files describes the descriptors of one process at one moment: results are cached. Not safe for concurrent use.
type Files struct {
	root    string
	pid     int
	sockets map[string]socket // by inode; nil until used
	ends    map[string][]end  // of pipes, by link text; nil until used
}

// NewFiles gives the descriptors of a process.
func NewFiles(pid int) *Files { return &Files{root: "/proc", pid: pid} }

// maxFileSize bounds what is read of a kernel file, in bytes.
const maxFileSize = 32 << 20

func (f *Files) read(pid int, name string) string {
	file, err := os.Open(f.path(pid, name))
	if err != nil {
		return ""
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, maxFileSize))
	return string(text)
}

func (f *Files) path(pid int, name string) string {
	return f.root + "/" + strconv.Itoa(pid) + "/" + name
}

// Describe completes a wait's descriptors.
func (f *Files) Describe(w *Wait) {
	if w.FD != nil {
		*w.FD = f.file(w.FD.FD, true)
	}
	for i := range w.FDs {
		w.FDs[i] = f.file(w.FDs[i].FD, false)
	}
}

// Link gives a descriptor's link text in /proc/PID/fd, "" if unknown.
func (f *Files) Link(fd int) string {
	link, err := os.Readlink(f.path(f.pid, "fd/"+strconv.Itoa(fd)))
	if err != nil {
		return ""
	}
	return link
}

func (f *Files) file(fd int, whole bool) File {
	d := File{FD: fd, Path: f.Link(fd)}
	kind, inode, _ := strings.Cut(d.Path, ":")
	switch {
	case d.Path == "":
	case strings.HasPrefix(d.Path, "anon_inode:"):
		d.Type = strings.Trim(inode, "[]")
		if d.Type == "eventpoll" {
			d.Type = "epoll"
		}
		f.addInfo(&d, whole)
	case kind == "socket":
		d.Type = "socket"
		s := f.socket(strings.Trim(inode, "[]"))
		d.Local, d.Remote, d.State = s.local, s.remote, s.state
	case kind == "pipe":
		d.Type = "pipe"
		if whole {
			f.otherEnd(&d)
		}
	default:
		d.Type = "file"
	}
	return d
}

// maxWatched bounds the listed descriptors of an epoll.
const maxWatched = 256

// addInfo adds what /proc/PID/fdinfo has (proc_pid_fdinfo(5)).
func (f *Files) addInfo(d *File, whole bool) {
	for line := range strings.Lines(f.read(f.pid, "fdinfo/"+strconv.Itoa(d.FD))) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "tfd":
			number, _, _ := strings.Cut(value, " ")
			if n, err := strconv.Atoi(number); err == nil && whole && len(d.Holds) < maxWatched {
				d.Holds = append(d.Holds, f.file(n, false))
			}
		case "eventfd-count":
			d.More = "count " + value
		case "it_value":
			d.More = timerText(value)
		case "sigmask":
			d.More = "signals " + signals(value)
		}
	}
}

func timerText(value string) string {
	sec, nsec, ok := strings.Cut(strings.Trim(value, "()"), ", ")
	s, err1 := strconv.ParseUint(sec, 10, 63)
	n, err2 := strconv.ParseUint(nsec, 10, 31)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return ""
	case s+n == 0:
		return "not set"
	}
	return "fires in " + strconv.FormatFloat(float64(s)+float64(n)/1e9, 'f', 3, 64) + " s"
}

func signals(mask string) string {
	m, err := strconv.ParseUint(mask, 16, 64)
	if err != nil {
		return mask
	}
	var list []string
	for n := 1; n <= 64; n++ {
		if m>>(n-1)&1 != 0 {
			list = append(list, strconv.Itoa(n))
		}
	}
	return strings.Join(list, ", ")
}

type end struct {
	Peer
	writes bool
}

func (f *Files) otherEnd(d *File) {
	if f.ends == nil {
		f.ends = f.pipes()
	}
	reads := true
	for _, e := range f.ends[d.Path] {
		if e.PID == f.pid && e.FD == d.FD {
			reads = !e.writes
		}
	}
	for _, e := range f.ends[d.Path] {
		if e.writes == reads {
			d.Peers = append(d.Peers, e.Peer)
		}
	}
	if len(d.Peers) == 0 {
		d.State = "no process found at the other end"
	}
}

// maxPipes bounds the known ends of pipes.
const maxPipes = 1 << 16

// pipes gives the ends of all observable pipes, by link text.
func (f *Files) pipes() map[string][]end {
	out := map[string][]end{}
	left := maxPipes
	entries, _ := os.ReadDir(f.root)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fds, _ := os.ReadDir(f.path(pid, "fd"))
		for _, d := range fds {
			fd, _ := strconv.Atoi(d.Name())
			link, _ := os.Readlink(f.path(pid, "fd/"+d.Name()))
			if !strings.HasPrefix(link, "pipe:") || left == 0 {
				continue
			}
			left--
			name := strings.TrimSpace(f.read(pid, "comm"))
			out[link] = append(out[link], end{Peer{pid, name, fd}, f.writes(pid, d.Name())})
		}
	}
	return out
}

// accessMode masks a descriptor's access mode; readOnly is O_RDONLY (include/uapi/asm-generic/fcntl.h).
const accessMode, readOnly = 3, 0

func (f *Files) writes(pid int, fd string) bool {
	for line := range strings.Lines(f.read(pid, "fdinfo/"+fd)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(flags), 8, 64)
			return n&accessMode != readOnly
		}
	}
	return false
}
