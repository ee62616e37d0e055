// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func serveBounded(t *testing.T, h http.HandlerFunc) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := boundedServer(h, func(line string) { t.Log(line) })
	s.ReadTimeout, s.ReadHeaderTimeout = time.Hour, time.Hour // only the number of connections ends one
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

func answer(t *testing.T, addr string) string {
	t.Helper()
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Get("http://" + addr + "/")
	if err != nil {
		return err.Error()
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestConnectionsThatNeverFinishTheirRequestLockNoClientOut(t *testing.T) {
	addr := serveBounded(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	const n = 2*maxConnections + 9
	var all [n]net.Conn
	for i := range all {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\nX: y")); err != nil {
			t.Fatal(err)
		}
		all[i] = c
	}
	if got := answer(t, addr); got != "ok" {
		t.Errorf("the answer is %q, want ok", got)
	}
	for i, c := range all[:n+1-maxConnections] { // the client's was one, too
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d of %d: %v, want its end", i, n, err)
		}
	}
	_ = all[n-1].SetReadDeadline(time.Now())
	if _, err := all[n-1].Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the last connection: %v, want none of its end", err)
	}
}

func TestClosedConnectionsAreForgotten(t *testing.T) {
	var open connections
	var all [3 * (maxConnections - 1)]net.Conn
	for i := range all {
		all[i], _ = net.Pipe()
		open.track(all[i], http.StateNew)
		open.track(all[i], http.StateActive)
		if i%3 > 0 {
			open.track(all[i], http.StateClosed)
		}
	}
	if len(open.oldest) != maxConnections-1 || open.oldest[0] != all[0] {
		t.Errorf("%d connections are known, want the %d open ones", len(open.oldest), maxConnections-1)
	}
}

func TestServerEndsRequestsAndIdleConnections(t *testing.T) {
	s := boundedServer(nil, nil)
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 ||
		s.MaxHeaderBytes != maxHeader {
		t.Errorf("time limits: header %v, request %v, answer %v, idle %v; header of %d bytes", s.ReadHeaderTimeout,
			s.ReadTimeout, s.WriteTimeout, s.IdleTimeout, s.MaxHeaderBytes)
	}
}

func TestErrorsOfTheServerAreAFewShortLines(t *testing.T) {
	var got []string
	l := lines{report: func(line string) { got = append(got, line) }}
	for range 10 * maxLogLines {
		if _, err := io.WriteString(&l, "http: \x1b[31m\n"+strings.Repeat("stack\n", 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != maxLogLines {
		t.Errorf("%d lines, want %d", len(got), maxLogLines)
	}
	for _, line := range got {
		if strings.ContainsAny(line, "\x1b\n") || len(line) > 2*maxLogLine {
			t.Errorf("%q is not one short printable line", line)
		}
	}
}
