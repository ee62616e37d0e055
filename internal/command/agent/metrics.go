// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/httpserver"
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
	windows, intervals, messages, bytes, failures, splits, rejected, evictions atomic.Int64
	waiting, waitingBytes, limit, lastSent                                     atomic.Int64

	mu   sync.Mutex
	lost map[string]int64

	// Sampling may be nil. It must be set before Serve.
	Sampling func() Sampling
}

// Sampling is the state of the sampling.
type Sampling struct {
	Threads, Ticks, Observations, Stops, Failed int64
	// MissedTicks came too late. WithheldTicks would have exceeded --max-overhead.
	MissedTicks, WithheldTicks int64
	// Rate is the present rate, RateAsked the rate without --max-overhead; Hz.
	Rate, RateAsked float64
	// Refused counts processes by reason.
	Refused map[string]int64
	// Table entries.
	Stacks, Locations int64
}

func (m *Metrics) addLost(why string, intervals int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost == nil {
		m.lost = map[string]int64{}
	}
	m.lost[why] += int64(intervals)
}

// Lost returns the number of lost intervals.
func (m *Metrics) Lost() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.lost {
		n += k
	}
	return n
}

// Sent returns the numbers of accepted intervals and messages.
func (m *Metrics) Sent() (intervals, messages int64) { return m.intervals.Load(), m.messages.Load() }

// list returns names without prefix and suffix.
func (m *Metrics) list() []metric {
	l := metricList{}
	l.count("windows", "Windows that were encoded.", m.windows.Load())
	l.count("sent_intervals", "Intervals of threads' time that the receiver has taken.", m.intervals.Load())
	l.count("sent_messages", "Messages that the receiver has taken.", m.messages.Load())
	l.count("sent_bytes", "Bytes of these messages, before compression.", m.bytes.Load())
	l.count("send_failures", "Attempts to send a message that failed.", m.failures.Load())
	l.count("split_messages", "Messages that were divided because they were too large.", m.splits.Load())
	l.count("rejected_profiles", "Profiles that the receiver rejected of messages that it took.", m.rejected.Load())
	l.count("evictions", "How often stacks that are not needed were forgotten.", m.evictions.Load())
	m.mu.Lock()
	lost := make([]metricPoint, len(reasons))
	for i, why := range reasons {
		lost[i] = metricPoint{reason: why, value: float64(m.lost[why])}
	}
	m.mu.Unlock()
	l = append(l, metric{"lost_intervals", "Intervals that were dropped.", true, lost})
	l.gauge("waiting_messages", "Messages that wait to be sent.", float64(m.waiting.Load()))
	l.gauge("waiting_bytes", "Bytes of these messages, in memory or in files.", float64(m.waitingBytes.Load()))
	l.gauge("message_limit_bytes", "Size that a message is divided beyond, before compression.",
		float64(m.limit.Load()))
	l.gauge("last_sent_timestamp_seconds", "When a message was last taken (Unix epoch); 0: none was.",
		float64(m.lastSent.Load())/1e9)
	if m.Sampling != nil {
		l.sampling(m.Sampling())
	}
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		l.add("process_cpu_seconds", "CPU time of the agent itself.", true,
			float64(ru.Utime.Nano()+ru.Stime.Nano())/1e9)
	}
	l.gauge("process_memory_bytes", "Memory that the agent's run-time system holds.", heldMemory())
	return l
}

// heldMemory is the Go runtime's memory less the part returned to the kernel, bytes.
func heldMemory() float64 {
	list := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(list)
	if list[0].Value.Kind() != metrics.KindUint64 || list[1].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return float64(list[0].Value.Uint64() - list[1].Value.Uint64())
}

// metric is a number with its meaning, or several with reasons.
type metric struct {
	name, help string
	counter    bool // only grows, from the process's start; else a current value
	points     []metricPoint
}

type metricPoint struct {
	reason string // "": the metric has no reasons
	value  float64
}

type metricList []metric

func (l *metricList) add(name, help string, counter bool, v float64) {
	*l = append(*l, metric{name, help, counter, []metricPoint{{value: v}}})
}

func (l *metricList) count(name, help string, v int64) { l.add(name, help, true, float64(v)) }

func (l *metricList) gauge(name, help string, v float64) { l.add(name, help, false, v) }

func (l *metricList) sampling(s Sampling) {
	l.gauge("threads", "Threads that are sampled.", float64(s.Threads))
	l.count("ticks", "Ticks of the sampling.", s.Ticks)
	l.count("missed_ticks", "Ticks that were left out because the agent had no CPU or was behind.", s.MissedTicks)
	l.count("withheld_ticks", "Ticks that were left out because targets had lost more than --max-overhead.",
		s.WithheldTicks)
	l.gauge("rate_hertz", "Ticks a second that --max-overhead allows now.", s.Rate)
	l.gauge("rate_asked_hertz", "Ticks a second that were asked for.", s.RateAsked)
	l.count("observations", "Observations of threads that were due.", s.Observations)
	l.count("stops", "Observations that stopped their thread.", s.Stops)
	l.count("failed_observations", "Observations that failed.", s.Failed)
	l.gauge("known_stacks", "Different stacks that are remembered.", float64(s.Stacks))
	l.gauge("known_locations", "Different locations that are remembered.", float64(s.Locations))
	refused := metric{name: "refused_processes", help: "Selected processes that may not be read.", counter: true}
	for _, why := range slices.Sorted(maps.Keys(s.Refused)) {
		refused.points = append(refused.points, metricPoint{why, float64(s.Refused[why])})
	}
	*l = append(*l, refused)
}

// writeText writes Prometheus's text format (prometheus.io/docs/instrumenting/exposition_formats).
func (m *Metrics) writeText(w io.Writer) {
	for _, a := range m.list() {
		name, kind := "prywalk_"+a.name, "gauge"
		if a.counter {
			name, kind = name+"_total", "counter"
		}
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, a.help, name, kind)
		for _, p := range a.points {
			if p.reason != "" {
				fmt.Fprintf(w, "%s{reason=%q} %v\n", name, p.reason, p.value)
			} else {
				fmt.Fprintf(w, "%s %v\n", name, p.value)
			}
		}
	}
}

const answerWithin = 10 * time.Second

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
	s := httpserver.New(mux, answerWithin, func(line string) { logf("--metrics %s: %s", addr, line) })
	go func() { _ = s.Serve(l) }()
	return l.Addr(), func() { _ = s.Close() }, nil
}

var errNotSampling = errors.New("the sampling has ended; see the agent's log")
