// SPDX-License-Identifier: Apache-2.0

// Package httpserver bounds what the clients of an HTTP server can take: connections, time, memory, lines in the log.
package httpserver

import (
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"prywalk/internal/base/printable"
)

const (
	maxConnections = 64
	maxHeader      = 1 << 14 // bytes
	maxLogLines    = 16      // of a server
	maxLogLine     = 256     // bytes

	readTimeout = 10 * time.Second
	idleTimeout = 30 * time.Second
)

// New returns a server. answerWithin bounds an answer's time, with that of its request. report gets the first few of
// the server's own errors, each as one printable line. If there are too many connections, the oldest one is closed: a
// client that keeps many does not lock out a new one.
func New(h http.Handler, answerWithin time.Duration, report func(line string)) *http.Server {
	open := &connections{}
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: answerWithin,
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
		for i := range c.oldest {
			if c.oldest[i] == conn {
				c.oldest = append(c.oldest[:i:i], c.oldest[i+1:]...)
				return
			}
		}
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
