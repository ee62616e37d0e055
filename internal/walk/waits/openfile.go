// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// OpenFile is a descriptor that a thread waits for. Unknown values are omitted.
type OpenFile struct {
	// FD is its number; it is negative if unknown, in a recording.
	FD FileNumber `json:"fd,omitzero"`
	// Path is what /proc/PID/fd shows: a file's path, or "socket:[123]".
	Path string `json:"path,omitempty"`
	// Type is "file", "pipe", "socket", "epoll", "eventfd", "timerfd", "signalfd", "inotify", or the kernel's word.
	Type string `json:"type,omitempty"`
	// Local and Remote are a socket's addresses, State its state, such as "LISTEN"; of a pipe, State says that no process
	// has the other end.
	Local  string `json:"local,omitempty"`
	Remote string `json:"remote,omitempty"`
	State  string `json:"state,omitempty"`
	// Peers are the observable processes with the other end of a pipe, or of a socket on this machine; if State is "not
	// accepted yet", those that listen.
	Peers []Peer `json:"peers,omitempty"`
	// Holds are the descriptors that an epoll watches.
	Holds []OpenFile `json:"holds,omitempty"`
	// More is an eventfd's count, a timer's time, or a signalfd's signals.
	More string `json:"more,omitempty"`
}

// FileNumber is a descriptor's number.
type FileNumber int

// IsZero reports that it is not known; 0 is one.
func (n FileNumber) IsZero() bool { return n < 0 }

// [OpenFile].State of TCP connections that wait: in the server's queue, and for the first answer to SYN.
const (
	NotAccepted = "not accepted yet"
	SynSent     = "SYN_SENT"
)

// notConnected is said of SynSent.
const notConnected = ", not connected yet"

// Unfinished returns ", not accepted yet", ", not connected yet", or "" by the state of a connection.
func Unfinished(state string) string {
	switch state {
	case NotAccepted:
		return ", " + NotAccepted
	case SynSent:
		return notConnected
	}
	return ""
}

// Peer is a process with the other end of a pipe or socket.
type Peer struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
	FD   int    `json:"fd"`
}

// String returns "pipe:[123] (fd 5), other end: cat (pid 77)".
func (f *OpenFile) String() string {
	text := f.Path
	switch {
	case f.Type == "socket" && f.Local+f.Remote != "":
		text = strings.TrimSpace("socket " + f.Local)
		if f.Remote != "" {
			text += " to " + f.Remote
		}
		if f.State != "" {
			text += " " + f.State
		}
	case text == "":
		return fmt.Sprintf("descriptor %d", f.FD)
	}
	if f.FD >= 0 {
		text += fmt.Sprintf(" (fd %d)", f.FD)
	}
	if f.More != "" {
		text += ", " + f.More
	}
	switch f.Type {
	case "pipe":
		if f.State != "" {
			text += ", " + f.State
		}
		text += f.peersText()
	case "socket":
		text += f.peersText()
	case "epoll":
		text += f.watchedText()
	}
	return text
}

// OtherEnd names the other end of a socket or pipe: "127.0.0.1:3700 = proxy (pid 8833)".
func (f *OpenFile) OtherEnd() string {
	text := f.Remote
	if text == "" {
		text = f.Path
	}
	if len(f.Peers) > 0 {
		text += " = " + f.peerNames()
	}
	return text + Unfinished(f.State)
}

func (f *OpenFile) peersText() string {
	if len(f.Peers) == 0 {
		return ""
	}
	return ", other end: " + f.peerNames()
}

func (f *OpenFile) peerNames() string {
	var list []string
	for _, p := range f.Peers[:min(len(f.Peers), maxShown)] {
		list = append(list, fmt.Sprintf("%s (pid %d)", p.Name, p.PID))
	}
	text := strings.Join(list, ", ")
	if more := len(f.Peers) - maxShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (f *OpenFile) watchedText() string {
	text := fmt.Sprintf(", watches %d", len(f.Holds))
	if len(f.Holds) == 0 {
		return text
	}
	return text + ": " + listOf(f.Holds)
}

func listOf(files []OpenFile) string {
	var list []string
	for i := range files[:min(len(files), maxShown)] {
		if len(files) <= maxDetailed {
			list = append(list, files[i].String())
		} else {
			list = append(list, files[i].short())
		}
	}
	if len(files) > maxShown {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

const maxShown = 4

func (f *OpenFile) short() string {
	g := OpenFile{FD: f.FD, Path: f.Path, Type: f.Type, Local: f.Local, Remote: f.Remote, State: f.State}
	if g.Type == "epoll" {
		g.Type = ""
	}
	return g.String()
}

var fileLockClasses = map[string][]string{"flock": {"FLOCK"}, "fcntl": {"POSIX", "OFDLCK"}}

func (f *OpenFiles) setFileLockOwner(w *Wait) {
	pid := fileLockOwner(f.read(f.root+"/locks"), f.pid, w.lockClasses)
	if pid == 0 {
		w.Why = "its owner is not known"
		return
	}
	w.OwnerProcess, w.OwnerName = pid, strings.TrimSpace(f.read(f.path(pid, "comm")))
}

// fileLockOwner parses /proc/locks (proc_locks(5)), where waiters follow the lock:
//
//	3: FLOCK  ADVISORY  WRITE 4711 fe:00:9986111 0 EOF
//	3: -> FLOCK  ADVISORY  WRITE 4712 fe:00:9986111 0 EOF
//
// Waiters are processes: it returns 0 if the waiter's threads wait for several owners.
func fileLockOwner(text string, waiter int, classes []string) (pid int) {
	last := 0
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		waits := len(fields) > 1 && fields[1] == "->"
		if waits {
			fields = slices.Delete(fields, 1, 2)
		}
		if len(fields) < 5 {
			continue
		}
		n, _ := strconv.Atoi(fields[4]) // −1 means an open file description's, 0 one of another pid namespace
		switch {
		case !waits:
			last = n
		case n != waiter || !slices.Contains(classes, fields[1]):
		case last <= 0 || pid != 0 && pid != last:
			return 0
		default:
			pid = last
		}
	}
	return pid
}
