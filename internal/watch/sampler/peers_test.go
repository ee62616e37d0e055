// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"fmt"
	"iter"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

// openWaits are the waits of the last refresh.
type openWaits struct {
	mu   sync.Mutex
	list []string
}

func (o *openWaits) Add(profile.Interval) {}

func (o *openWaits) Refresh(_ int64, open iter.Seq[profile.Interval]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = o.list[:0]
	for iv := range open {
		o.list = append(o.list, iv.WaitsFor)
	}
}

func (o *openWaits) has(parts ...string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, text := range o.list {
		missing := 0
		for _, part := range parts {
			if !strings.Contains(text, part) {
				missing++
			}
		}
		if missing == 0 {
			return true
		}
	}
	return false
}

// The second connection is mostly newer than the lists of sockets, which are read at most once a second.
func TestASleepOnANewConnectionNamesItsServer(t *testing.T) {
	python := testtargets.NeedProgram(t, "python3")
	cmd := exec.Command(python, "-c",
		"import socket, sys\nfor line in sys.stdin: socket.create_connection(('127.0.0.1', int(line))).recv(1)")
	in, _ := testtargets.Talk(t, cmd)
	server := fmt.Sprintf("(pid %d)", os.Getpid())
	var w openWaits
	o := target.SamplingOptions{Sinks: []profile.Sink{&w}, WatchEvery: 20 * time.Millisecond}
	r := record(t, o, 0, func(*Sampler) {
		for range 2 {
			l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			_ = l.SetDeadline(time.Now().Add(patience))
			fmt.Fprintln(in, l.Addr().(*net.TCPAddr).Port)
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			await(t, "the sleep has its server", func() bool { return w.has(l.Addr().String(), server) })
			_ = c.Close()
		}
	}, cmd.Process.Pid)
	slept := map[string]bool{}
	for _, s := range r.Sample {
		if label(s, "wait") != "recvfrom" {
			continue
		}
		waitsFor := label(s, "waits_for")
		if !strings.Contains(waitsFor, server) {
			t.Errorf("%q without its server, for %v", waitsFor, time.Duration(s.Value[1]))
		}
		connection, _, _ := strings.Cut(waitsFor, " = ")
		slept[connection] = true
	}
	if len(slept) != 2 {
		t.Errorf("sleeps for %v, want two connections", slept)
	}
}
