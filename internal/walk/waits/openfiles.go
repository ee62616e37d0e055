// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
)

// OpenFiles describes one process's descriptors. Socket tables and other ends are those of one moment. Not safe for
// concurrent use.
type OpenFiles struct {
	root   string
	pid    int
	tables socketTables          // empty until used
	ends   map[string][]endpoint // by link, or id of a named pipe; nil until used
	fifos  int                   // named pipes looked for
	times  map[string]dataTimes  // of TCP connections, by inode; nil until used
}

// NewOpenFiles returns the descriptors of a process.
func NewOpenFiles(pid int) *OpenFiles { return &OpenFiles{root: "/proc", pid: pid} }

const maxFileSize = 32 << 20

func (f *OpenFiles) read(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, maxFileSize))
	return string(text)
}

func (f *OpenFiles) path(pid int, name string) string {
	return f.root + "/" + strconv.Itoa(pid) + "/" + name
}

// AddFileDetails completes a wait's descriptors, the owner of a file lock, and the name of a child.
func (f *OpenFiles) AddFileDetails(w *Wait) {
	if w.Kind == Child && w.Child > 0 {
		w.childName = ChildWaitedFor(f.pid, w.Child).program()
	}
	if w.Kind == FileLock {
		f.setFileLockOwner(w)
	}
	if w.FD != nil {
		f.complete(w.FD, true, w.Kind)
	}
	for i := range w.FDs {
		f.complete(&w.FDs[i], len(w.FDs) <= maxDetailed, w.Kind)
	}
}

// maxDetailed is the number of descriptors of a wait up to which the other ends are found and shown.
const maxDetailed = 2

// complete takes the kind of the wait: for a named pipe it is no wait for a disk, whose file could hang as well.
func (f *OpenFiles) complete(d *OpenFile, detailed bool, kind Kind) {
	if *d = f.file(int(d.FD)); !detailed {
		return
	}
	fifo := ""
	if d.Type == "file" && kind == Descriptor {
		if fifo = f.fifoID(f.pid, int(d.FD)); fifo != "" {
			d.Type = "pipe"
		}
	}
	switch d.Type {
	case "pipe":
		f.addPipePeers(d, fifo)
	case "socket":
		f.addSocketPeer(d)
	case "epoll":
		f.addWatched(d)
	}
}

// Link returns a descriptor's link in /proc/PID/fd, or "".
func (f *OpenFiles) Link(fd int) string {
	link, err := os.Readlink(f.path(f.pid, "fd/"+strconv.Itoa(fd)))
	if err != nil {
		return ""
	}
	return link
}

func (f *OpenFiles) file(fd int) OpenFile {
	d := OpenFile{FD: FileNumber(fd), Path: f.Link(fd)}
	kind, inode, _ := strings.Cut(d.Path, ":")
	switch {
	case d.Path == "":
	case strings.HasPrefix(d.Path, "anon_inode:"):
		if d.Type = strings.Trim(inode, "[]"); d.Type == "eventpoll" {
			d.Type = "epoll"
		} else {
			d.More = f.infoText(fd)
		}
	case kind == "socket":
		d.Type = "socket"
		s := f.socket(strings.Trim(inode, "[]"))
		d.Local, d.Remote, d.State = s.local, s.remote, s.state
	case kind == "pipe":
		d.Type = "pipe"
	default:
		d.Type = "file"
	}
	return d
}

func (f *OpenFiles) info(pid, fd int) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for line := range strings.Lines(f.read(f.path(pid, "fdinfo/"+strconv.Itoa(fd)))) {
			key, value, _ := strings.Cut(line, ":")
			if !yield(strings.TrimSpace(key), strings.TrimSpace(value)) {
				return
			}
		}
	}
}

func (f *OpenFiles) infoText(fd int) (text string) {
	for key, value := range f.info(f.pid, fd) {
		switch key {
		case "eventfd-count":
			text = "count " + value
		case "it_value":
			text = timerText(value)
		case "sigmask":
			text = "signals " + signalNumbers(value)
		}
	}
	return text
}

const maxWatched = 256

func (f *OpenFiles) addWatched(d *OpenFile) {
	for key, value := range f.info(f.pid, int(d.FD)) {
		number, _, _ := strings.Cut(value, " ")
		if n, err := strconv.Atoi(number); key == "tfd" && err == nil && len(d.Holds) < maxWatched {
			d.Holds = append(d.Holds, f.file(n))
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

func signalNumbers(mask string) string {
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
