// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

func TestProcessesOfANetworkShareTheReadingOfItsTables(t *testing.T) {
	root := t.TempDir()
	write := func(pid int, inodes ...int) *OpenFiles {
		text := "  sl  local_address rem_address\n"
		for i, inode := range inodes {
			text += fmt.Sprintf("%4d: 0100007F:1F90 0100007F:%04X 01 00000000:00000000 00:00000000 00000000 0 0 %d 1\n",
				i, 0xC000+inode, inode)
		}
		dir := filepath.Join(root, fmt.Sprint(pid), "net")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tcp"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return &OpenFiles{root: root, pid: pid}
	}
	var p RemoteAddresses
	clock := int64(1e9)
	now := func() int64 { return clock }
	first, second := write(1, 7), write(2, 7, 8)
	expect := func(f *OpenFiles, link, want string) {
		t.Helper()
		if got := p.Of(f, link, now); got != want {
			t.Errorf("%s has peer %q, not %q", link, got, want)
		}
	}
	expect(first, "socket:[7]", "127.0.0.1:49159")
	expect(second, "socket:[7]", "127.0.0.1:49159")
	expect(second, "socket:[8]", "")
	expect(second, "pipe:[7]", "")
	clock += peersEvery
	expect(second, "socket:[8]", "127.0.0.1:49160")
	clock += peersEvery
	expect(&OpenFiles{root: root, pid: 3}, "socket:[9]", "")
	expect(first, "socket:[8]", "127.0.0.1:49160")
}

func TestSocketsAreReadFromTheKernelsTables(t *testing.T) {
	got := map[string]socket{}
	parseInet("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"+
		"   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100\n"+
		"   1: 0100007F:1538 0200007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100\n"+
		"   2: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 4713 1\n", true,
		got)
	parseUnix("Num       RefCount Protocol Flags    Type St Inode Path\n"+
		"0000000000000000: 00000002 00000000 00010000 0001 01 4714 /run/a socket\n", got)
	want := map[string]socket{
		"4711": {"127.0.0.1:5432", "", "LISTEN"}, "4712": {"127.0.0.1:5432", "127.0.0.2:54321", "ESTABLISHED"},
		"4713": {"[::1]:80", "", "LISTEN"}, "4714": {"unix /run/a socket", "", "LISTEN"},
	}
	for inode, s := range want {
		if got[inode] != s {
			t.Errorf("%s: %+v, want %+v", inode, got[inode], s)
		}
	}
}

func TestClientsAndPeersOfSocketsAreFound(t *testing.T) {
	before := NewOpenFiles(os.Getpid()).Clients()
	for want, address := range []string{"tcp 127.0.0.1:0", "unix " + filepath.Join(t.TempDir(), "s")} {
		network, at, _ := strings.Cut(address, " ")
		l, err := net.Listen(network, at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		client, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		pending := openFileOf(t, client)
		if isTCP := network == "tcp"; isTCP != (pending.State == NotAccepted) || isTCP != (len(pending.Peers) == 1) ||
			isTCP != strings.HasSuffix(pending.OtherEnd(), "), not accepted yet") {
			t.Errorf("%s: not accepted: %+v", address, pending)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		if n := NewOpenFiles(os.Getpid()).Clients() - before; n != want+1 {
			t.Errorf("%s: %d clients, want %d", address, n, want+1)
		}
		w := Wait{FD: openFileOf(t, client)}
		files, remote := NewOpenFiles(os.Getpid()), &RemoteAddresses{}
		link := files.Link(int(w.FD.FD))
		remote.Of(files, link, procmem.Now)
		other, _ := remote.tables.otherEnd(files, inodeOf(link))
		if other = "socket:[" + other + "]"; remote.IsServed(link) || !remote.IsServed(other) {
			t.Errorf("%s: not the accepted end is served: %s, %s", address, link, other)
		}
		if w.FD.Remote != l.Addr().String() || len(w.FD.Peers) != 1 || w.FD.Peers[0].PID != os.Getpid() ||
			w.FD.Peers[0].FD == int(w.FD.FD) || !strings.Contains(w.FD.OtherEnd(), l.Addr().String()+" = ") {
			t.Errorf("%s: %+v, %s", address, w.FD, w.FD.OtherEnd())
		}
	}
}

// openFileOf describes a connection of this process.
func openFileOf(t *testing.T, c net.Conn) *OpenFile {
	t.Helper()
	control, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var w Wait
	err = control.Control(func(fd uintptr) { w = Wait{Kind: Descriptor, FD: &OpenFile{FD: FileNumber(fd)}} })
	if err != nil {
		t.Fatal(err)
	}
	NewOpenFiles(os.Getpid()).AddFileDetails(&w)
	return w.FD
}

// A connection in the listener's queue has the listener's processes, until it is accepted.
func TestARecorderNamesWhoHasNotAcceptedAConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	fd := int(openFileOf(t, client).FD)
	for _, pending := range []bool{true, false} {
		files, own, remote := NewOpenFiles(os.Getpid()), &Peers{}, &RemoteAddresses{}
		link := files.Link(fd)
		text := link + " " + remote.Of(files, link, procmem.Now) + own.Of(files, remote, link, fd, procmem.Now)
		got := ParseLabel(text)
		if (got.State == NotAccepted) != pending || len(got.Peers()) != 1 || got.Peers()[0].PID != os.Getpid() {
			t.Errorf("%q: %+v", text, got)
		}
		if pending {
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
		}
	}
}

// Of a server whose queue is full, the kernel does not answer to SYN.
func TestAConnectionToAFullQueueIsNotAccepted(t *testing.T) {
	open := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	server := open()
	if err := unix.Bind(server, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(server, 0); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(server)
	if err != nil {
		t.Fatal(err)
	}
	clients := []int{open(), open()}
	for i, fd := range clients {
		if err := unix.Connect(fd, at); err != unix.EINPROGRESS {
			t.Fatal(err)
		}
		if i == 0 { // the queue is full from here on
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(server), Events: unix.POLLIN}}, 60_000); n != 1 {
				t.Fatal(n, err)
			}
		}
	}
	w := Wait{Kind: Descriptor, FD: &OpenFile{FD: FileNumber(clients[1])}}
	files, own, remote := NewOpenFiles(os.Getpid()), &Peers{}, &RemoteAddresses{}
	files.AddFileDetails(&w)
	if w.FD.State != NotAccepted || len(w.FD.Peers) != 1 || w.FD.Peers[0].FD != server {
		t.Errorf("%+v", w.FD)
	}
	link := files.Link(clients[1])
	text := link + " " + remote.Of(files, link, procmem.Now) + own.Of(files, remote, link, clients[1], procmem.Now)
	if got := ParseLabel(text); got.State != NotAccepted || len(got.Peers()) != 1 {
		t.Errorf("%q: %+v", text, got)
	}
}

func TestAConnectionWithoutAnAnswerIsNotConnected(t *testing.T) {
	table := "sl local_address rem_address st\n" +
		" 0: 0100000A:1F90 0200000A:0050 02 00000000:00000000 01:00000000 00000000 0 0 7 1 0000000000000000\n"
	a := RemoteAddresses{nextRead: 1, tables: socketTables{sockets: map[string]socket{}}}
	parseInet(table, true, a.tables.sockets)
	got := a.Of(NewOpenFiles(os.Getpid()), "socket:[7]", func() int64 { return 0 })
	f := OpenFile{Type: "socket", Remote: "10.0.0.2:80", State: a.tables.sockets["7"].state}
	if want := "10.0.0.2:80, not connected yet"; got != want || f.OtherEnd() != want {
		t.Errorf("%q, %q, want %q", got, f.OtherEnd(), want)
	}
}

// Connections that no process has are named by their addresses; closed ones are left out.
func TestConnectionsWithoutAnInodeAreKeptApart(t *testing.T) {
	got := map[string]socket{}
	parseInet("  sl  local_address rem_address\n"+
		"   0: 0100007F:1538 0100007F:0001 01 0:0 00:0 0 0 0 0 1\n"+
		"   1: 0100007F:1538 0100007F:0002 08 0:0 00:0 0 0 0 0 1\n"+
		"   2: 0100007F:1538 0100007F:0003 06 0:0 00:0 0 0 0 0 1\n"+
		"   3: 0100007F:1538 0100007F:0004 03 0:0 00:0 0 0 0 0 1\n", true, got)
	for n, state := range map[string]string{"1": "ESTABLISHED", "2": "CLOSE_WAIT", "4": "SYN_RECV"} {
		local, remote := "127.0.0.1:5432", "127.0.0.1:"+n
		if s := got["0 "+local+" "+remote]; s != (socket{local, remote, state}) {
			t.Errorf("%s: %+v", n, s)
		}
	}
	if len(got) != 3 {
		t.Errorf("%+v", got)
	}
}

func FuzzTables(f *testing.F) {
	f.Add("   0: 0100007F:1538 00000000:0000 0A 0:0 00:0 0 0 0 4711 1\n", "tfd:        5 events:       19 data: 0\n")
	f.Fuzz(func(_ *testing.T, table, info string) {
		parseInet(table, true, map[string]socket{})
		parseUnix(table, map[string]socket{})
		eachMessage([]byte(table), func(m []byte) { _, _, _ = parseTCPInfo(m) })
		_ = parseUnixPeer([]byte(table))
		_, _, _ = parseTCPInfo([]byte(table))
		_, _, _ = timerText(info), signalNumbers(info), inetAddress(table)
		_ = fileLockOwner(table, 4712, []string{"FLOCK"})
	})
}

func TestAConnectionLeadsToTheSocketThatListensAtItsAddress(t *testing.T) {
	for name, c := range map[string]struct {
		listening []string // inodes are their indexes
		address   string
		want      string
	}{
		"both families":          {[]string{"0.0.0.0:80", "[::]:80"}, "127.0.0.1:80", "0"},
		"both families, of IPv6": {[]string{"0.0.0.0:80", "[::]:80"}, "[::1]:80", "1"},
		"only IPv6":              {[]string{"[::]:80"}, "127.0.0.1:80", "0"},
		"its own address":        {[]string{"0.0.0.0:80", "127.0.0.1:80"}, "127.0.0.1:80", "1"},
		"another address":        {[]string{"127.0.0.2:80"}, "127.0.0.1:80", ""},
		"another port":           {[]string{"0.0.0.0:81"}, "127.0.0.1:80", ""},
		"several":                {[]string{"0.0.0.0:80", "0.0.0.0:80"}, "127.0.0.1:80", ""},
	} {
		tables := socketTables{listening: map[string][]string{}}
		for i, local := range c.listening {
			tables.addListening(strconv.Itoa(i), &socket{local: local})
		}
		if got := tables.listeningAt(c.address); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
