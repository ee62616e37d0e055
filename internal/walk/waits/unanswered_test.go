// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
)

// The process has both ends: clients of itself.
func TestConnectionsWithoutAnAnswerAreFound(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connect := func() (client, server net.Conn) {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if server, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close(); server.Close() })
		return client, server
	}
	send := func(from, to net.Conn) {
		if _, err := from.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(to, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	connect() // without data
	answered, its := connect()
	send(answered, its)
	tick(t)
	send(its, answered)
	for range 2 {
		send(connect())
	}
	late, of := connect()
	send(late, of)
	tick(t)
	send(of, late)
	tick(t)
	send(late, of)
	var got []Unanswered
	testtargets.Eventually(t, "both ends of three connections", func() bool {
		got = slices.DeleteFunc(NewOpenFiles(os.Getpid()).Unanswered(), func(u Unanswered) bool {
			return u.Peer != "" && !strings.HasPrefix(u.Peer, l.Addr().String()) // of the tests' own environment
		})
		return len(got) == 2 && got[0].Connections == 3 && got[1].Connections == 3
	})
	peer := fmt.Sprintf("%s = waits.test (pid %d)", l.Addr(), os.Getpid())
	if got[0].Peer != peer || got[1].Peer != "" || min(got[0].Longest, got[1].Longest) < minUnanswered {
		t.Errorf("%+v, want %s, then clients", got, peer)
	}
}

// tick waits until data have another time in the kernel's clock.
func tick(t *testing.T) {
	t.Helper()
	coarse := func() (now unix.Timespec) {
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_COARSE, &now); err != nil {
			t.Fatal(err)
		}
		return now
	}
	for range 2 {
		begun := coarse()
		testtargets.Eventually(t, "a tick of the kernel's clock", func() bool { return coarse() != begun })
	}
}

func TestTextOfConnectionsWithoutAnAnswer(t *testing.T) {
	for want, u := range map[string]Unanswered{
		"1 client connection: data came, none sent back for at least 1.2 s":              {"", 1, 1234 * time.Millisecond},
		"2 client connections: data came, none sent back, the longest for at least 60 s": {"", 2, time.Minute},
		"5 connections to a:80: data sent, none came back, the longest for at least 7 s": {"a:80", 5, 7 * time.Second},
		"1 connection to a:80 = b (pid 9): data sent, none came back for at least 3600 s": {"a:80 = b (pid 9)", 1,
			time.Hour},
	} {
		if got := u.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDataWithinOneTickOfTheClockAreToldApartOnlyAtFirst(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		a, b dataTime
		want bool
	}{
		{dataTime{5 * ms, 1}, dataTime{6 * ms, 1}, true},
		{dataTime{6 * ms, 1}, dataTime{5 * ms, 0}, false},
		{dataTime{6 * ms, 1}, dataTime{6 * ms, 0}, true},
		{dataTime{6 * ms, 1}, dataTime{6 * ms, 1}, false},
		{dataTime{6 * ms, 0}, dataTime{6 * ms, 0}, false},
		{dataTime{5 * ms, 0}, dataTime{6 * ms, 0}, false},
	} {
		if got := c.a.isAfter(c.b); got != c.want {
			t.Errorf("%v after %v: %v", c.a, c.b, got)
		}
	}
}
