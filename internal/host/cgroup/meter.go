// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPUStat is the kernel's statistics of a group.
type CPUStat struct {
	Periods          int64         // periods in which the group ran
	ThrottledPeriods int64         // periods in which it used up the quota
	ThrottledFor     time.Duration // the sum over all CPUs
	// Used is the group's accounted CPU time, −1 if it is unknown.
	Used time.Duration
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
		s.Used = time.Duration(number(string(bytes.TrimSpace(m.buf[:n])), math.MaxInt64))
	}
	return s, nil
}

// parseStat parses cpu.stat, whose times are in microseconds in v2, in nanoseconds in v1.
func parseStat(text []byte) CPUStat {
	s := CPUStat{Used: -1}
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		name, value, ok := bytes.Cut(line, []byte(" "))
		if !ok {
			continue
		}
		n := number(string(value), math.MaxInt64)
		switch string(name) {
		case "nr_periods":
			s.Periods = n
		case "nr_throttled":
			s.ThrottledPeriods = n
		case "throttled_time":
			s.ThrottledFor = time.Duration(n)
		case "throttled_usec":
			s.ThrottledFor = micros(n)
		case "usage_usec":
			s.Used = micros(n)
		}
	}
	return s
}

func micros(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/1000)) * time.Microsecond
}

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

// QuotaGuard reports whether enough of a quota is left for a tick. Not safe for concurrent use.
//
// The period began after the last query that saw one period fewer. So the rest is at least the quota less all use since
// that query. The kernel hands a quota to CPUs in slices of 5 ms (sched_cfs_bandwidth_slice_us), and an idle CPU keeps
// 1 ms (kernel/sched/fair.c, min_cfs_rq_runtime): so much may be left on other CPUs.
type QuotaGuard struct {
	quota      CPUQuota
	otherCPUs  time.Duration // bound of what other CPUs have
	periods    int64
	usedBefore time.Duration // lower bound of the use at the period's start
	seen       time.Duration // use at the last query
}

const (
	slice        = 5 * time.Millisecond
	idleCPUKeeps = time.Millisecond
)

// NewQuotaGuard returns a guard. The group's threads can run on processors CPUs at a time, and have run on kept others.
// used is the group's use.
func NewQuotaGuard(l CPUQuota, processors, kept int, now CPUStat, used time.Duration) *QuotaGuard {
	// use in this period is unknown
	g := &QuotaGuard{quota: l, periods: now.Periods, usedBefore: used - l.Quota, seen: used}
	if processors > 1 || kept > 0 {
		// with more than half, no tick would begin
		g.otherCPUs = min(time.Duration(processors-1)*slice+idleCPUKeeps, l.Quota/2)
	}
	return g
}

// Update takes the kernel's statistics and the group's use then.
func (g *QuotaGuard) Update(s CPUStat, used time.Duration) {
	if n := s.Periods - g.periods; n > 0 {
		// use beyond the quota counts in the next period
		debt := max(used-g.usedBefore-time.Duration(n)*g.quota.Quota, 0)
		g.periods, g.usedBefore = s.Periods, g.seen-min(debt, g.quota.Quota)
	}
	g.seen = used
}

// Left is the CPU time certainly left of this period after such use; negative means none.
func (g *QuotaGuard) Left(used time.Duration) time.Duration {
	return g.quota.Quota - g.otherCPUs - (used - g.usedBefore)
}

// MinLeft is the least rest for a tick of that cost: two such ticks and 1 ms of other work, bounded by the quota so
// that ticks happen at all.
func (g *QuotaGuard) MinLeft(cost time.Duration) time.Duration {
	return min(2*cost+time.Millisecond, g.quota.Quota/2-g.otherCPUs/2)
}

// ShouldQuery reports that much was used since the last query of the kernel.
func (g *QuotaGuard) ShouldQuery(used time.Duration) bool {
	return used-g.seen > g.quota.Quota/16 || g.Left(used) < g.quota.Quota/2
}

// Rate is the ticks per second that take half of the quota, at a cost in nanoseconds.
func (g *QuotaGuard) Rate(cost float64) float64 {
	if cost <= 0 {
		return 1e9
	}
	return g.quota.Share() / 2 * 1e9 / cost
}

// Quota returns the guarded quota.
func (g *QuotaGuard) Quota() *CPUQuota { return &g.quota }
