// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// endpoint is a descriptor of a pipe or a socket. One of a named pipe may be open for both.
type endpoint struct {
	peer          Peer
	reads, writes bool
}

// NoOtherEnd is the state of a pipe whose other end was looked for, and no process has it.
const NoOtherEnd = "no process found at the other end"

// addPipePeers takes the id of a named pipe.
func (f *OpenFiles) addPipePeers(d *OpenFile, fifo string) {
	ends, ok := f.endpoints(d.Path, fifo)
	d.addPeers(f.pid, ends, true)
	if ok && len(d.Peers) == 0 {
		d.State = NoOtherEnd
	}
}

// addSocketPeer finds the other end of a connection to this machine.
func (f *OpenFiles) addSocketPeer(d *OpenFile) {
	other, pending := f.tables.otherEnd(f, inodeOf(d.Path))
	if other == "" {
		return
	}
	if pending {
		d.State = NotAccepted
	}
	if path, isUnix := strings.CutPrefix(f.socket(other).local, "unix"); isUnix {
		d.Remote = strings.TrimSpace(path)
	}
	ends, _ := f.endpoints("socket:["+other+"]", "")
	d.addPeers(f.pid, ends, false)
}

func inodeOf(link string) string {
	_, inode, _ := strings.Cut(link, ":[")
	inode, _, _ = strings.Cut(inode, "]")
	return inode
}

// maxFIFOs bounds the readings of all descriptors for named pipes: one for each.
const maxFIFOs = 8

// endpoints returns the processes' descriptors of a pipe or socket, by its link, or by the id of a named pipe, and
// whether they were looked for.
func (f *OpenFiles) endpoints(link, fifo string) (ends []endpoint, ok bool) {
	if f.ends == nil {
		f.ends = f.listEndpoints("", "")
	}
	if fifo == "" {
		return f.ends[link], true
	}
	if _, known := f.ends[fifo]; !known {
		if f.fifos++; f.fifos > maxFIFOs {
			return nil, false
		}
		f.ends[fifo] = f.listEndpoints(link, fifo)[link]
	}
	return f.ends[fifo], true
}

const maxEndpoints = 1 << 17

// listEndpoints lists pipes and sockets by link, or only those of the named pipe path, by its id. The path is of each
// process's own mount namespace.
func (f *OpenFiles) listEndpoints(path, fifo string) map[string][]endpoint {
	out := map[string][]endpoint{}
	left := maxEndpoints
	entries, _ := os.ReadDir(f.root)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fds, _ := os.ReadDir(f.path(pid, "fd"))
		name := strings.TrimSpace(f.read(f.path(pid, "comm")))
		for _, d := range fds {
			fd, _ := strconv.Atoi(d.Name())
			link, _ := os.Readlink(f.path(pid, "fd/"+d.Name()))
			pipe := strings.HasPrefix(link, "pipe:")
			if fifo != "" {
				pipe = link == path && f.fifoID(pid, fd) == fifo
			}
			if !pipe && (fifo != "" || !strings.HasPrefix(link, "socket:")) || left == 0 {
				continue
			}
			left--
			end := endpoint{peer: Peer{pid, name, fd}}
			if pipe {
				end.reads, end.writes = f.access(pid, fd)
			}
			out[link] = append(out[link], end)
		}
	}
	return out
}

// fifoID identifies a named pipe on this host; it is "" of other files. It asks no file server (statx(2)).
func (f *OpenFiles) fifoID(pid, fd int) string {
	var st unix.Statx_t
	path := f.path(pid, "fd/"+strconv.Itoa(fd))
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO, &st)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d", st.Dev_major, st.Dev_minor, st.Ino)
}

// NamedPipe returns "pipe:[ID] PATH" of a named pipe, whose link is its path, or the link.
func (f *OpenFiles) NamedPipe(fd int, link string) string {
	if !strings.HasPrefix(link, "/") {
		return link
	}
	if fifo := f.fifoID(f.pid, fd); fifo != "" {
		return "pipe:[" + fifo + "] " + link
	}
	return link
}

// access returns how a descriptor is open; if that is not known, for reading.
func (f *OpenFiles) access(pid, fd int) (reads, writes bool) {
	for key, value := range f.info(pid, fd) {
		if key == "flags" {
			n, _ := strconv.ParseUint(value, 8, 64)
			mode := n & unix.O_ACCMODE
			return mode != unix.O_WRONLY, mode != unix.O_RDONLY
		}
	}
	return true, false
}

// ChildLabel is the label of a wait for the process.
func (p Peer) ChildLabel() string { return fmt.Sprintf("%s %s (pid %d)", Child, p.program(), p.PID) }

// program is the process's name, "sh: convert" of a shell (bash, dash …) with one child, as of system(3).
func (p Peer) program() string {
	if slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish"}, p.Name) {
		if command := ChildWaitedFor(p.PID, 0); command.PID != 0 {
			return p.Name + ": " + command.Name
		}
	}
	return p.Name
}

// ChildWaitedFor returns the child of process pid that it waits for: child, if that is one, or for 0 its only one. PID
// is 0 if that is not known, also in another pid namespace (proc_pid_children(5)).
func ChildWaitedFor(pid, child int) (c Peer) {
	own := NewOpenFiles(pid)
	var status procmem.Status
	switch {
	case child == 0:
		var all []string
		files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/[0-9]*/children")
		for _, file := range files {
			all = append(all, strings.Fields(own.read(file))...)
		}
		if len(all) != 1 {
			return c
		}
		child, _ = strconv.Atoi(all[0])
	case procmem.ParseStatus([]byte(own.read(own.path(child, "status"))), &status) != nil || status.PPid != pid,
		namespace(pid) != namespace(os.Getpid()):
		return c
	}
	return Peer{PID: child, Name: strings.TrimSpace(own.read(own.path(child, "comm")))}
}
