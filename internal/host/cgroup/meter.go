// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// CPUStat is the kernel's statistics of a group.
type CPUStat struct {
	Periods          int64 // in which the group ran
	ThrottledPeriods int64 // periods in which it used up the quota
	ThrottledFor     int64 // ns, of all CPUs
	// Used is the group's accounted CPU time, ns; −1: unknown.
	Used int64
}

// Meter keeps a group's files open. Not safe for concurrent use.
type Meter struct {
	stat, acct *os.File
	buf        [4096]byte
}

// Open opens the group's files.
func (q *CPUQuota) Open() (*Meter, error) {
	f, err := os.Open(filepath.Join(q.Dir, "cpu.stat"))
	if err != nil {
		return nil, err
	}
	m := &Meter{stat: f}
	if q.acct != "" {
		m.acct, _ = os.Open(q.acct)
	}
	return m, nil
}

// Close closes the files.
func (m *Meter) Close() {
	_ = m.stat.Close()
	if m.acct != nil {
		_ = m.acct.Close()
	}
}

// Read reads the statistics.
func (m *Meter) Read() (CPUStat, error) {
	n, err := m.stat.ReadAt(m.buf[:], 0)
	if n == 0 && err != nil {
		return CPUStat{}, err
	}
	s := parseStat(m.buf[:n])
	if m.acct == nil {
		return s, nil
	}
	if n, _ := m.acct.ReadAt(m.buf[:], 0); n > 0 {
		s.Used = parseNumber(bytes.TrimSpace(m.buf[:n]))
	}
	return s, nil
}

// parseStat parses cpu.stat: v2 has µs, v1 ns.
func parseStat(text []byte) CPUStat {
	s := CPUStat{Used: -1}
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		name, value, ok := bytes.Cut(line, []byte(" "))
		if !ok {
			continue
		}
		n := parseNumber(value)
		switch string(name) {
		case "nr_periods":
			s.Periods = n
		case "nr_throttled":
			s.ThrottledPeriods = n
		case "throttled_time":
			s.ThrottledFor = n
		case "throttled_usec":
			s.ThrottledFor = times1000(n)
		case "usage_usec":
			s.Used = times1000(n)
		}
	}
	return s
}

func parseNumber(b []byte) (n int64) {
	for _, c := range b {
		if c < '0' || c > '9' || n > (1<<63-1-9)/10 {
			return 0
		}
		n = 10*n + int64(c-'0')
	}
	return n
}

func times1000(n int64) int64 { return min(n, (1<<63-1)/1000) * 1000 }

// Alone reports that no other process is in the group, and no group below it; false for an ancestor's group.
func (q *CPUQuota) Alone() bool {
	text, err := os.ReadFile(filepath.Join(q.Dir, "cgroup.procs"))
	if err != nil || !q.Own || strings.TrimSpace(string(text)) != strconv.Itoa(os.Getpid()) {
		return false
	}
	below, err := os.ReadDir(q.Dir)
	for _, e := range below {
		if e.IsDir() {
			return false
		}
	}
	return err == nil
}
