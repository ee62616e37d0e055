// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/printable"
	"prywalk/internal/watch/tracer"
)

// Reasons of lost intervals, as metrics name them.
const (
	lostRefused      = "refused"
	lostRejected     = "rejected"     // profiles of a message that was taken
	lostUnauthorized = "unauthorized" // token or certificate
	lostNotFound     = "not_found"
	lostTooLarge     = "too_large" // an interval, or a message of 64 KiB, exceeds the limit
	lostFull         = "full"
	lostDamaged      = "damaged"  // in the spool
	lostAtEnd        = "shutdown" // not sent within --flush
)

var reasons = [...]string{lostRefused, lostRejected, lostUnauthorized, lostNotFound, lostTooLarge, lostFull,
	lostDamaged, lostAtEnd}

// Metrics are the agent's own metrics.
type Metrics struct {
	windows, intervals, messages, bytes, failures, splits, rejected atomic.Int64
	waiting, waitingBytes, limit, lastSent                          atomic.Int64

	mu   sync.Mutex
	lost map[string]int64

	// Sampling may be nil. It must be set before Serve.
	Sampling func() Sampling
}

// Sampling is the state of the sampling.
type Sampling struct {
	Progress  tracer.Progress
	RateAsked float64          // without --max-overhead, Hz
	Refused   map[string]int64 // processes by reason
}

func (m *Metrics) addLost(why string, intervals int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost == nil {
		m.lost = map[string]int64{}
	}
	m.lost[why] += int64(intervals)
}

// Sent returns the numbers of accepted intervals and messages.
func (m *Metrics) Sent() (intervals, messages int64) { return m.intervals.Load(), m.messages.Load() }

// writeText writes Prometheus's text format (prometheus.io/docs/instrumenting/exposition_formats).
func (m *Metrics) writeText(w io.Writer) {
	t := exposition{w}
	t.write("windows_total", "Windows that were encoded.", m.windows.Load())
	t.write("sent_intervals_total", "Intervals of threads' time that the receiver has taken.", m.intervals.Load())
	t.write("sent_messages_total", "Messages that the receiver has taken.", m.messages.Load())
	t.write("sent_bytes_total", "Bytes of these messages, before compression.", m.bytes.Load())
	t.write("send_failures_total", "Attempts to send a message that failed.", m.failures.Load())
	t.write("split_messages_total", "Messages that were divided because they were too large.", m.splits.Load())
	t.write("rejected_profiles_total", "Profiles that the receiver rejected of messages that it took.", m.rejected.Load())
	lost := map[string]int64{}
	for _, why := range reasons {
		lost[why] = 0
	}
	m.mu.Lock()
	maps.Copy(lost, m.lost)
	m.mu.Unlock()
	t.writeByReason("lost_intervals_total", "Intervals that were dropped.", lost)
	t.write("waiting_messages", "Messages that wait to be sent.", m.waiting.Load())
	t.write("waiting_bytes", "Bytes of these messages, in memory or in files.", m.waitingBytes.Load())
	t.write("message_limit_bytes", "Size that a message is divided beyond, before compression.", m.limit.Load())
	t.write("last_sent_timestamp_seconds", "When a message was last taken (Unix epoch); 0: none was.",
		float64(m.lastSent.Load())/1e9)
	if m.Sampling != nil {
		t.writeSampling(m.Sampling())
	}
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		t.write("process_cpu_seconds_total", "CPU time of the agent itself.", float64(ru.Utime.Nano()+ru.Stime.Nano())/1e9)
	}
	t.write("process_memory_bytes", "Memory that the agent's run-time system holds.", heldMemory())
}

// heldMemory is the Go runtime's memory less the part returned to the kernel, bytes.
func heldMemory() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys - m.HeapReleased)
}

type exposition struct{ io.Writer }

func (t exposition) write(name, help string, v any) {
	t.writeHead(name, help)
	fmt.Fprintf(t, "prywalk_%s %v\n", name, v)
}

// writeHead takes the kind from the name: only a counter's ends in _total.
func (t exposition) writeHead(name, help string) {
	kind := "gauge"
	if strings.HasSuffix(name, "_total") {
		kind = "counter"
	}
	fmt.Fprintf(t, "# HELP prywalk_%s %s\n# TYPE prywalk_%s %s\n", name, help, name, kind)
}

func (t exposition) writeByReason(name, help string, values map[string]int64) {
	t.writeHead(name, help)
	for _, why := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(t, "prywalk_%s{reason=%q} %d\n", name, why, values[why])
	}
}

func (t exposition) writeSampling(s Sampling) {
	t.write("threads", "Threads that are sampled.", s.Progress.Threads)
	t.write("ticks_total", "Ticks of the sampling.", s.Progress.Ticks)
	t.write("missed_ticks_total", "Ticks that were left out because the agent had no CPU or was behind.",
		s.Progress.MissedTicks)
	t.write("withheld_ticks_total", "Ticks that were left out because targets had lost more than --max-overhead.",
		s.Progress.WithheldTicks)
	t.write("rate_hertz", "Ticks a second that --max-overhead allows now.", s.Progress.Rate)
	t.write("rate_asked_hertz", "Ticks a second that were asked for.", s.RateAsked)
	t.write("observations_total", "Observations of threads that were due.", s.Progress.Observations)
	t.write("stops_total", "Observations that stopped their thread.", s.Progress.Stops)
	t.write("failed_observations_total", "Observations that failed.", s.Progress.Failed)
	t.writeByReason("refused_processes_total", "Selected processes that may not be read.", s.Refused)
}

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
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ConnState: open.track,
		ErrorLog: log.New(&lines{report: report}, "", 0),
	}
}

type connections struct {
	mu     sync.Mutex
	oldest []net.Conn // in the order of their arrival
}

func (c *connections) track(conn net.Conn, state http.ConnState) {
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
