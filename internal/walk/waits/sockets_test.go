// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		if n := NewOpenFiles(os.Getpid()).Clients() - before; n != want+1 {
			t.Errorf("%s: %d clients, want %d", address, n, want+1)
		}
		// its descriptor in this process
		control, err := client.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var w Wait
		if err := control.Control(func(fd uintptr) { w = Wait{Kind: Descriptor, FD: &OpenFile{FD: int(fd)}} }); err != nil {
			t.Fatal(err)
		}
		files, remote := NewOpenFiles(os.Getpid()), &RemoteAddresses{}
		link := files.Link(w.FD.FD)
		remote.Of(files, link, procmem.Now)
		if other := "socket:[" + remote.otherEnd(files, inodeOf(link)) + "]"; remote.IsServed(link) ||
			!remote.IsServed(other) {
			t.Errorf("%s: not the accepted end is served: %s, %s", address, link, other)
		}
		files.AddFileDetails(&w)
		if w.FD.Remote != l.Addr().String() || len(w.FD.Peers) != 1 || w.FD.Peers[0].PID != os.Getpid() ||
			w.FD.Peers[0].FD == w.FD.FD || !strings.Contains(w.FD.OtherEnd(), l.Addr().String()+" = ") {
			t.Errorf("%s: %+v, %s", address, w.FD, w.FD.OtherEnd())
		}
	}
}

func FuzzTables(f *testing.F) {
	f.Add("   0: 0100007F:1538 00000000:0000 0A 0:0 00:0 0 0 0 4711 1\n", "tfd:        5 events:       19 data: 0\n")
	f.Fuzz(func(_ *testing.T, table, info string) {
		parseInet(table, true, map[string]socket{})
		parseUnix(table, map[string]socket{})
		_ = parseUnixPeer([]byte(table))
		_, _, _ = timerText(info), signalNumbers(info), inetAddress(table)
		_ = fileLockOwner(table, 4712, []string{"FLOCK"})
	})
}
