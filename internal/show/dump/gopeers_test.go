// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bufio"
	"fmt"
	"slices"
	"testing"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

const goPeers = `package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"syscall"
	"time"
)

func fd(c syscall.Conn) (n uintptr) {
	raw, err := c.SyscallConn()
	if err != nil {
		panic(err)
	}
	raw.Control(func(fd uintptr) { n = fd })
	return n
}

func dial(network, address string) (net.Conn, uintptr) {
	l, err := net.Listen(network, address)
	if err != nil {
		panic(err)
	}
	c, err := net.Dial(network, l.Addr().String())
	if err != nil {
		panic(err)
	}
	kept = append(kept, l)
	return c, fd(c.(syscall.Conn))
}

var kept []any

func readTCP(c net.Conn)  { c.Read(make([]byte, 1)) }
func readUnix(c net.Conn) { c.Read(make([]byte, 1)) }
func readPipe(f *os.File) { f.Read(make([]byte, 1)) }
func writeTCP(c net.Conn) {
	for {
		c.Write(make([]byte, 1<<16))
	}
}
func accept(l net.Listener)   { l.Accept() }
func request(address string)  { http.Get("http://" + address) }

func main() {
	tcp, tcpFD := dial("tcp", "127.0.0.1:0")
	unix, unixFD := dial("unix", os.Args[1])
	full, fullFD := dial("tcp", "127.0.0.1:0")
	r, w, _ := os.Pipe()
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	silent, _ := net.Listen("tcp", "127.0.0.1:0")
	go readTCP(tcp)
	go readUnix(unix)
	go writeTCP(full)
	go readPipe(r)
	go accept(l)
	go request(silent.Addr().String())
	all := make([]byte, 1<<20)
	for { // until each goroutine waits
		all = all[:runtime.Stack(all[:cap(all)], true)]
		if bytes.Count(all, []byte(" [IO wait")) == 6 && bytes.Contains(all, []byte("persistConn).roundTrip(")) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("main.readTCP", tcpFD, "read")
	fmt.Println("main.readUnix", unixFD, "read")
	fmt.Println("main.writeTCP", fullFD, "write")
	fmt.Println("main.readPipe", fd(r), "read")
	fmt.Println("main.accept", fd(l.(syscall.Conn)), "accept")
	fmt.Println("END")
	kept = append(kept, w, l)
	time.Sleep(time.Hour)
}
`

// Without http's reader a goroutine has the descriptor that the program itself names.
func TestTheDescriptorOfAnIOWaitIsTheProgramsOwn(t *testing.T) {
	for _, release := range goReleases(t, testtargets.GoReleases(t)...) {
		t.Run(release, func(t *testing.T) {
			socket := t.TempDir() + "/u"
			cmd, out := startGo(t, buildGo(t, goPeers, release), socket)
			p := (*stacks.Process)(nil)
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				var function, what string
				var fd int
				if _, err := fmt.Sscan(lines.Text(), &function, &fd, &what); err != nil {
					break // END
				}
				if p == nil {
					p = sampleAsleep(t, cmd.Process.Pid)
				}
				i := slices.IndexFunc(p.GoroutineStacks, func(g stacks.Goroutine) bool { return g.Calls(function) })
				if i < 0 || p.GoroutineStacks[i].WaitsFor == nil {
					t.Errorf("%s waits for nothing", function)
					continue
				}
				w := p.GoroutineStacks[i].WaitsFor
				if int(w.FD.FD) != fd || (w.Idle != "") != (what == "accept") {
					t.Errorf("%s waits for %v, want descriptor %d", function, w, fd)
				}
			}
			readers := 0
			for g := range stacks.Each(p.GoroutineStacks) {
				if g.Calls("net/http.(*persistConn).readLoop") && g.WaitsFor != nil && g.WaitsFor.Idle != "" {
					readers++
				}
			}
			if readers != 1 {
				t.Errorf("%d readers of http", readers)
			}
		})
	}
}
