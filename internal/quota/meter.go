// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Sample is what the kernel says of a group.
type Sample struct {
	// Periods were there so far, and in so many of them, Throttled, somebody stood still. A period in which nobody
	// ran is not counted.
	Periods, Throttled int64
	// ThrottledFor is for how long, in nanoseconds, summed over the processors.
	ThrottledFor int64
	// Used is the processor time of all that ran in the group, in nanoseconds, less what runs at this moment and is not
	// booked yet; −1 if it is not known.
	Used int64
}

// Meter reads what the kernel says of a group, from files that are kept open. It belongs to one goroutine.
type Meter struct {
	stat, acct *os.File
	buf        [4096]byte
}

// Open opens the files of a limit's group.
func (l *Limit) Open() (*Meter, error) {
	f, err := os.Open(filepath.Join(l.Dir, "cpu.stat"))
	if err != nil {
		return nil, err
	}
	m := &Meter{stat: f}
	if l.acct != "" {
		m.acct, _ = os.Open(l.acct) // what the group used is not known then
	}
	return m, nil
}

// Close closes the files.
func (m *Meter) Close() {
	_ = m.stat.Close() // they were only read
	if m.acct != nil {
		_ = m.acct.Close()
	}
}

// Read reads the counts.
func (m *Meter) Read() (Sample, error) {
	n, err := m.stat.ReadAt(m.buf[:], 0)
	if n == 0 && err != nil {
		return Sample{}, err
	}
	s := parseStat(m.buf[:n])
	if m.acct == nil {
		return s, nil
	}
	if n, _ := m.acct.ReadAt(m.buf[:], 0); n > 0 {
		s.Used = number(bytes.TrimSpace(m.buf[:n]))
	}
	return s, nil
}

// parseStat reads cpu.stat of v2 (times in microseconds) and of v1 (nanoseconds).
func parseStat(text []byte) Sample {
	s := Sample{Used: -1}
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		name, value, ok := bytes.Cut(line, []byte(" "))
		if !ok {
			continue
		}
		n := number(value)
		switch string(name) {
		case "nr_periods":
			s.Periods = n
		case "nr_throttled":
			s.Throttled = n
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

// number reads digits without allocation; 0 for anything else.
func number(b []byte) (n int64) {
	for _, c := range b {
		if c < '0' || c > '9' || n > (1<<63-1-9)/10 {
			return 0
		}
		n = 10*n + int64(c-'0')
	}
	return n
}

func times1000(n int64) int64 { return min(n, (1<<63-1)/1000) * 1000 }

// Alone reports whether this process is all that is in the group, so that what it uses itself is what the group uses.
func (l *Limit) Alone() bool {
	text, err := os.ReadFile(filepath.Join(l.Dir, "cgroup.procs"))
	if err != nil || !l.Own || strings.TrimSpace(string(text)) != strconv.Itoa(os.Getpid()) {
		return false
	}
	below, err := os.ReadDir(l.Dir)
	for _, e := range below {
		if e.IsDir() {
			return false
		}
	}
	return err == nil
}
