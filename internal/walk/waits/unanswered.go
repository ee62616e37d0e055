// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/tabular"
)

// Unanswered are TCP connections on which one side sent data, and the other none since: a request may be in work.
type Unanswered struct {
	// Peer is the other end to which the process sent: "127.0.0.1:80 = nginx (pid 9)"; "" means that clients sent to it.
	Peer        string `json:"peer,omitempty"`
	Connections int    `json:"connections"`
	// Longest is the longest time since the last such data, in nanoseconds. The first can be older, and TCP repeats what
	// is lost.
	Longest time.Duration `json:"longest_ns"`
}

// String returns "5 connections to 127.0.0.1:80 = nginx (pid 9): data sent, none came back, the longest for at least
// 12.3 s".
func (u *Unanswered) String() string {
	n := int64(u.Connections)
	what, silent, longest := tabular.Plural(n, "client connection"), "data came, none sent back", ""
	if u.Peer != "" {
		what, silent = tabular.Plural(n, "connection")+" to "+u.Peer, "data sent, none came back"
	}
	if n > 1 {
		longest = ", the longest"
	}
	seconds := strconv.FormatFloat(u.Longest.Round(100*time.Millisecond).Seconds(), 'f', -1, 64)
	return fmt.Sprintf("%s: %s%s for at least %s s", what, silent, longest, seconds)
}

// minUnanswered is the least [Unanswered.Longest]: shorter ones are ordinary.
const minUnanswered = time.Second

// Unanswered returns those to at most maxShown other ends, and all others as one, most connections first, and then the
// client connections. Without the right to enter the process's network namespace it returns none.
func (f *OpenFiles) Unanswered() (list []Unanswered) {
	if f.times == nil {
		f.times = f.tcpDataTimes()
	}
	inodes, byPeer := map[string]string{}, map[string]Unanswered{}
	for inode := range f.socketInodes() {
		t, s := f.times[inode], f.socket(inode)
		peer := s.remote
		if len(f.tables.listening[s.listener()]) > 0 {
			peer, t.out, t.in = "", t.in, t.out
		}
		if t.out.isAfter(t.in) && t.out.since >= minUnanswered {
			delete(f.times, inode) // a socket of several processes counts once
			u := byPeer[peer]
			inodes[peer], byPeer[peer] = inode, Unanswered{peer, u.Connections + 1, max(u.Longest, t.out.since)}
		}
	}
	clients, ok := byPeer[""]
	delete(byPeer, "")
	list = slices.SortedFunc(maps.Values(byPeer), func(a, b Unanswered) int {
		return cmp.Or(b.Connections-a.Connections, strings.Compare(a.Peer, b.Peer))
	})
	if len(list) > maxShown {
		rest := Unanswered{Peer: fmt.Sprintf("%d other addresses", len(list)-maxShown)}
		for _, u := range list[maxShown:] {
			rest.Connections, rest.Longest = rest.Connections+u.Connections, max(rest.Longest, u.Longest)
		}
		list = append(list[:maxShown], rest)
	}
	for i := range list[:min(len(list), maxShown)] {
		d := OpenFile{Path: "socket:[" + inodes[list[i].Peer] + "]", Remote: list[i].Peer}
		f.addSocketPeer(&d)
		list[i].Peer = d.OtherEnd()
	}
	if ok {
		list = append(list, clients)
	}
	return list
}

// Of returns the descriptors of another process, with the same tables if it is in the same network namespace.
func (f *OpenFiles) Of(pid int) *OpenFiles {
	other := NewOpenFiles(pid)
	if f.Network() == other.Network() {
		*other = *f
		other.pid = pid
	}
	return other
}

// socketInodes returns the process's sockets; several descriptors may be of one.
func (f *OpenFiles) socketInodes() map[string]bool {
	out := map[string]bool{}
	entries, _ := os.ReadDir(f.path(f.pid, "fd"))
	for _, e := range entries {
		fd, _ := strconv.Atoi(e.Name())
		if link := f.Link(fd); strings.HasPrefix(link, "socket:[") {
			out[inodeOf(link)] = true
		}
	}
	return out
}

// dataTimes are the data sent and received on a connection.
type dataTimes struct{ out, in dataTime }

// dataTime is the time since the last data of one direction, else since the connection began, and the number of its
// segments.
type dataTime struct {
	since    time.Duration
	segments uint32
}

// isAfter reports whether the last data came after b's. Times within one tick of the kernel's clock (up to 10 ms) are
// equal; then data on a connection that had none in the other direction are later.
func (a dataTime) isAfter(b dataTime) bool {
	return a.segments > 0 && (a.since < b.since || a.since == b.since && b.segments == 0)
}

// Values of include/uapi/linux/inet_diag.h and tcp.h.
const (
	inetDiagRequest = 56 // size of struct inet_diag_req_v2
	inetDiagMessage = 72 // size of struct inet_diag_msg
	inetDiagInode   = 68 // idiag_inode
	inetDiagInfo    = 2
	lastDataSent    = 44 // of struct tcp_info, ms
	lastDataRecv    = 52
	dataSegsIn      = 152 // since Linux 4.6
	dataSegsOut     = 156
	established     = 1 << 1 // TCP_ESTABLISHED
)

// tcpDataTimes returns those of the process's network namespace, by inode.
func (f *OpenFiles) tcpDataTimes() map[string]dataTimes {
	out := map[string]dataTimes{}
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		body := make([]byte, inetDiagRequest)
		body[0], body[1], body[2] = family, unix.IPPROTO_TCP, 1<<(inetDiagInfo-1)
		binary.NativeEndian.PutUint32(body[4:], established)
		f.askSocketDiag(unix.NLM_F_DUMP, body, func(m []byte) {
			if inode, t, ok := parseTCPInfo(m); ok {
				out[inode] = t
			}
		})
	}
	return out
}

func parseTCPInfo(m []byte) (inode string, t dataTimes, ok bool) {
	if len(m) < inetDiagMessage {
		return "", t, false
	}
	info := diagAttribute(m[inetDiagMessage:], inetDiagInfo)
	if len(info) < lastDataRecv+4 {
		return "", t, false
	}
	word := func(at int) (n uint32) {
		if at+4 <= len(info) {
			n = binary.NativeEndian.Uint32(info[at:])
		}
		return n
	}
	direction := func(last, segments int) dataTime {
		return dataTime{time.Duration(word(last)) * time.Millisecond, word(segments)}
	}
	inode = strconv.FormatUint(uint64(binary.NativeEndian.Uint32(m[inetDiagInode:])), 10)
	return inode, dataTimes{direction(lastDataSent, dataSegsOut), direction(lastDataRecv, dataSegsIn)}, true
}
