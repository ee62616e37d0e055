// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"encoding/binary"
	"fmt"
	"iter"
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
	// Peer is the other end to which the process sent: "127.0.0.1:80 = nginx (pid 9)"; "": clients sent to the process.
	Peer        string `json:"peer,omitempty"`
	Connections int    `json:"connections"`
	// Longest is the time since the earliest of these data, ns.
	Longest time.Duration `json:"longest_ns"`
}

// String returns "5 connections to 127.0.0.1:80 = nginx (pid 9) have got no data back for up to 12.3 s".
func (u *Unanswered) String() string {
	n := int64(u.Connections)
	what := tabular.Plural(n, "client connection")
	if u.Peer != "" {
		what = tabular.Plural(n, "connection") + " to " + u.Peer
	}
	has, upTo := "have", "up to "
	if n == 1 {
		has, upTo = "has", ""
	}
	seconds := strconv.FormatFloat(u.Longest.Round(100*time.Millisecond).Seconds(), 'f', -1, 64)
	return fmt.Sprintf("%s %s got no data back for %s%s s", what, has, upTo, seconds)
}

// minUnanswered is the least [Unanswered.Longest]: shorter ones are ordinary.
const minUnanswered = time.Second

// Unanswered returns those to each other end, longest first, and then the client connections. nil if the process is in
// another network namespace.
func (f *OpenFiles) Unanswered() (list []Unanswered) {
	if f.Network() != NewOpenFiles(os.Getpid()).Network() {
		return nil
	}
	times := tcpDataTimes()
	byPeer := map[string]*Unanswered{}
	for fd, inode := range f.socketInodes() {
		t, s := times[inode], f.socket(inode)
		served := len(f.tables.listening[s.listener()]) > 0
		if served {
			t.out, t.in = t.in, t.out
		}
		if !t.out.isAfter(t.in) || t.out.since < minUnanswered || s.remote == "" {
			continue
		}
		peer := s.remote
		if served {
			peer = ""
		}
		u := byPeer[peer]
		if u == nil {
			u = &Unanswered{Peer: peer}
			if byPeer[peer] = u; !served {
				d := OpenFile{FD: fd, Path: "socket:[" + inode + "]", Type: "socket", Remote: peer}
				f.addSocketPeer(&d)
				u.Peer = d.OtherEnd()
			}
		}
		u.Connections, u.Longest = u.Connections+1, max(u.Longest, t.out.since)
	}
	for _, u := range byPeer {
		list = append(list, *u)
	}
	slices.SortFunc(list, func(a, b Unanswered) int {
		if (a.Peer == "") != (b.Peer == "") {
			return len(b.Peer) - len(a.Peer)
		}
		return int(b.Longest - a.Longest)
	})
	return list
}

// socketInodes yields the process's sockets by descriptor.
func (f *OpenFiles) socketInodes() iter.Seq2[int, string] {
	return func(yield func(fd int, inode string) bool) {
		entries, _ := os.ReadDir(f.path(f.pid, "fd"))
		for _, e := range entries {
			fd, _ := strconv.Atoi(e.Name())
			inode, ok := strings.CutPrefix(f.Link(fd), "socket:[")
			if ok && !yield(fd, strings.TrimSuffix(inode, "]")) {
				return
			}
		}
	}
}

// dataTimes are the data sent and received on a connection.
type dataTimes struct{ out, in dataTime }

// dataTime is the time since the last data of one direction, else since the connection began, and the number of its
// segments.
type dataTime struct {
	since    time.Duration
	segments uint32
}

// isAfter: the kernel's clock does not tell apart what is within one of its ticks, of up to 10 ms. The beginning of a
// connection and the request often are.
func (a dataTime) isAfter(b dataTime) bool {
	return a.since < b.since || a.since == b.since && a.segments > 0 && b.segments == 0
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
	openStates      = 1<<1 | 1<<8 // TCP_ESTABLISHED, TCP_CLOSE_WAIT
)

// tcpDataTimes returns those of prywalk's network namespace, by inode.
func tcpDataTimes() map[string]dataTimes {
	out := map[string]dataTimes{}
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		body := make([]byte, inetDiagRequest)
		body[0], body[1], body[2] = family, unix.IPPROTO_TCP, 1<<(inetDiagInfo-1)
		binary.NativeEndian.PutUint32(body[4:], openStates)
		askSocketDiag(unix.NLM_F_DUMP, body, func(m []byte) {
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
