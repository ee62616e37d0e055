// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

type socket struct{ local, remote, state string }

var tcpStates = map[string]string{
	"01": "ESTABLISHED", "02": SynSent, "03": "SYN_RECV", "04": "FIN_WAIT1", "05": "FIN_WAIT2", "06": "TIME_WAIT",
	"07": "CLOSE", "08": "CLOSE_WAIT", "09": "LAST_ACK", "0A": "LISTEN", "0B": "CLOSING",
}

// socketTables are the sockets of a network namespace.
type socketTables struct {
	sockets   map[string]socket    // by inode
	connected map[[2]string]string // inodes by local and remote address
	listening map[string][]string  // inodes by local address, and by [socket.listener]
}

func (f *OpenFiles) socket(inode string) socket {
	if f.tables.sockets == nil {
		f.tables = f.readSockets()
	}
	return f.tables.sockets[inode]
}

func (f *OpenFiles) readSockets() socketTables {
	t := socketTables{map[string]socket{}, map[[2]string]string{}, map[string][]string{}}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		parseInet(f.read(f.path(f.pid, "net/"+table)), strings.HasPrefix(table, "tcp"), t.sockets)
	}
	parseUnix(f.read(f.path(f.pid, "net/unix")), t.sockets)
	for inode, s := range t.sockets {
		if s.remote != "" {
			t.connected[[2]string{s.local, s.remote}] = inode
		}
		if s.state == "LISTEN" {
			t.addListening(inode, &s)
		}
	}
	return t
}

func (t *socketTables) addListening(inode string, s *socket) {
	for _, key := range []string{s.local, s.listener()} {
		t.listening[key] = append(t.listening[key], inode)
	}
}

// pendingInode begins the key of a TCP connection that its server has not accepted. Its inode is 0 until then. With a
// full queue of the listening socket it stays in SYN_RECV, while its client has ESTABLISHED.
const pendingInode = "0"

func isPending(inode string) bool { return strings.HasPrefix(inode, pendingInode) }

// otherEnd returns the inode of the other end of a connection on this machine, or "". f is a file of a process with the
// socket. Of a pending TCP connection it is that of the listening socket of its address: with a full queue, the server
// does not answer to SYN.
func (t *socketTables) otherEnd(f *OpenFiles, inode string) (other string, pending bool) {
	switch s := t.sockets[inode]; {
	case s.remote != "":
		other = t.connected[[2]string{s.remote, s.local}]
		if isPending(other) || s.state == SynSent && isLoopback(s.remote) {
			if at := t.listeningAt(s.remote); at != "" {
				return at, true
			}
		}
	case strings.HasPrefix(s.local, "unix"):
		other = f.unixPeer(inode)
	}
	if isPending(other) || other == inode {
		return "", false
	}
	return other, false
}

// listeningAt returns the inode of the only socket that listens at an address, or else at all of its family, or else at
// all. It returns "" for none and for several, as with SO_REUSEPORT.
func (t *socketTables) listeningAt(address string) string {
	server, all := socket{local: address}, "0.0.0.0:"
	if strings.HasPrefix(address, "[") {
		all = "[::]:"
	}
	for _, local := range []string{address, all + server.listener(), "[::]:" + server.listener()} {
		if at := t.listening[local]; len(at) == 1 {
			return at[0]
		} else if len(at) > 1 {
			break
		}
	}
	return ""
}

func isLoopback(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().IsLoopback()
}

// Clients returns the number of open connections to sockets at which a process listens.
func (f *OpenFiles) Clients() (n int) {
	for inode := range f.socketInodes() {
		s := f.socket(inode)
		open := s.state == "ESTABLISHED" || strings.HasPrefix(s.local, "unix") && s.state != "LISTEN"
		if open && s.listener() != "" && len(f.tables.listening[s.listener()]) > 0 {
			n++
		}
	}
	return n
}

// listener returns what a socket and that of its listener have in common: a port, or a path.
func (s *socket) listener() string {
	if path, ok := strings.CutPrefix(s.local, "unix"); ok {
		return path
	}
	return s.local[strings.LastIndexByte(s.local, ':')+1:]
}

// RemoteAddresses returns the remote addresses of a network namespace's sockets. Not safe for concurrent use.
type RemoteAddresses struct {
	tables   socketTables
	nextRead int64 // next reading of the tables, in nanoseconds of CLOCK_MONOTONIC
}

// Of returns a socket's remote address by its link ([OpenFiles.Link]), and whether it is not connected, or "". It reads
// the tables again for an unknown socket, or one that is not connected or not accepted, by [listAgainAt].
// now returns CLOCK_MONOTONIC in nanoseconds.
func (a *RemoteAddresses) Of(f *OpenFiles, link string, now func() int64) string {
	inode, ok := strings.CutPrefix(link, "socket:[")
	if !ok {
		return ""
	}
	inode = strings.TrimSuffix(inode, "]")
	s, known := a.tables.sockets[inode]
	known = known && s.state != SynSent && (s.remote == "" || !isPending(a.tables.connected[[2]string{s.remote, s.local}]))
	if !known && now() >= a.nextRead {
		a.nextRead = listAgainAt(now, func() {
			if all := f.readSockets(); len(all.sockets) > 0 { // the process may have ended
				a.tables = all
			}
		})
	}
	if s = a.tables.sockets[inode]; s.state == SynSent {
		return s.remote + notConnected
	}
	return s.remote
}

// IsServed reports whether a socket listens, or is one that the listening side has accepted: its other end is a client.
// Precondition: [RemoteAddresses.Of] was called for the link.
func (a *RemoteAddresses) IsServed(link string) bool {
	s, known := a.tables.sockets[inodeOf(link)]
	return known && s.listener() != "" && len(a.tables.listening[s.listener()]) > 0
}

const peersEvery = int64(time.Second) // at least, between readings of the tables

// Network identifies the process's network namespace, "" if unknown.
func (f *OpenFiles) Network() string {
	link, _ := os.Readlink(f.path(f.pid, "ns/net"))
	return link
}

// parseInet parses /proc/PID/net/tcp and the like (proc_net(5)).
func parseInet(text string, tcp bool, out map[string]socket) {
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) < 10 || !strings.HasSuffix(w[0], ":") {
			continue
		}
		s := socket{local: inetAddress(w[1]), remote: inetAddress(w[2])}
		if tcp {
			s.state = tcpStates[w[3]]
		}
		if strings.HasSuffix(s.remote, ":0") {
			s.remote = ""
		}
		if w[9] == pendingInode {
			if s.state != "SYN_RECV" && s.state != "ESTABLISHED" && s.state != "CLOSE_WAIT" {
				continue // closed by its process
			}
			w[9] += " " + s.local + " " + s.remote
		}
		out[w[9]] = s
	}
}

// inetAddress formats an address of these tables: little-endian 32-bit words, and the port.
func inetAddress(text string) string {
	addr, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(addr)
	p, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(raw) != 4 && len(raw) != 16 {
		return ""
	}
	for i := 0; i < len(raw); i += 4 {
		binary.BigEndian.PutUint32(raw[i:], binary.LittleEndian.Uint32(raw[i:]))
	}
	ip, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip.Unmap(), uint16(p)).String()
}

func parseUnix(text string, out map[string]socket) {
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) < 7 || !strings.HasSuffix(w[0], ":") {
			continue
		}
		s := socket{local: "unix"}
		if len(w) > 7 {
			s.local += " " + strings.Join(w[7:], " ")
		}
		if w[5] == "01" && w[3] == "00010000" { // SS_UNCONNECTED, listening
			s.state = "LISTEN"
		}
		out[w[6]] = s
	}
}
