// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"prywalk/internal/base/printable"
)

const (
	maxConnections = 64
	maxHeader      = 1 << 14 // bytes
	maxLogLines    = 16      // of a server
	maxLogLine     = 256     // bytes

	readTimeout = 10 * time.Second // of a request, and of its answer
	idleTimeout = 30 * time.Second
)

// serve answers /metrics and /healthz until stop is called.
func (m *Metrics) serve(addr string, healthy func() error, logf func(format string, args ...any)) (
	at net.Addr, stop func(), err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("--metrics %s: %w; give a free address of this host, such as 127.0.0.1:9102", addr, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.writeText(w)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	s := boundedServer(mux, func(line string) { logf("--metrics %s: %s", addr, line) })
	go func() { _ = s.Serve(l) }()
	return l.Addr(), func() { _ = s.Close() }, nil
}

var errNotSampling = errors.New("the sampling has ended; see the agent's log")

// boundedServer bounds what clients can take: connections, time, memory, lines in the log. report gets the first few of
// the server's own errors, each as one printable line. If there are too many connections, the oldest one is closed: a
// client that keeps many does not lock out a new one.
func boundedServer(h http.Handler, report func(line string)) *http.Server {
	open := &connections{}
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: readTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ConnState: open.note,
		ErrorLog: log.New(&lines{report: report}, "", 0),
	}
}

type connections struct {
	mu     sync.Mutex
	oldest []net.Conn // in the order of their arrival
}

func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if c.oldest = append(c.oldest, conn); len(c.oldest) > maxConnections {
			_ = c.oldest[0].Close() // StateClosed follows
			c.oldest = c.oldest[1:]
		}
	case http.StateClosed, http.StateHijacked:
		c.oldest = slices.DeleteFunc(c.oldest, func(other net.Conn) bool { return other == conn })
	}
}

// lines passes the first lines of a log on.
type lines struct {
	mu     sync.Mutex
	n      int
	report func(line string)
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n++; l.n <= maxLogLines {
		l.report(printable.String(string(b[:min(len(b), maxLogLine)])))
	}
	return len(b), nil
}
