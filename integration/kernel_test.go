// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuOf reads a process's CPU clock, which includes ended threads (clock_getcpuclockid(3); MAKE_PROCESS_CPUCLOCK in the
// kernel's posix-timers.h).
func cpuOf(pid int) (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &ts)
	return time.Duration(ts.Nano()), err
}

type meter struct {
	stop, done chan struct{}
	readings   []reading
}

type reading struct {
	from, to time.Time
	cpu      time.Duration
}

func startMeter(pids []int) *meter {
	m := &meter{stop: make(chan struct{}), done: make(chan struct{})}
	last := make([]time.Duration, len(pids))
	go func() {
		defer close(m.done)
		for over := false; ; {
			r := reading{from: time.Now()}
			for i, pid := range pids {
				if cpu, err := cpuOf(pid); err == nil {
					last[i] = cpu
				}
				r.cpu += last[i]
			}
			r.to = time.Now()
			if m.readings = append(m.readings, r); over {
				return
			}
			select {
			case <-m.stop:
				over = true
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return m
}

func (m *meter) finish() {
	close(m.stop)
	<-m.done
}

// read returns bounds: the last reading that ended before, and the first that began after.
func (m *meter) read(at time.Time) (least, most time.Duration) {
	after := sort.Search(len(m.readings), func(i int) bool { return m.readings[i].from.After(at) })
	before := sort.Search(len(m.readings), func(i int) bool { return m.readings[i].to.After(at) })
	return m.readings[max(before-1, 0)].cpu, m.readings[min(after, len(m.readings)-1)].cpu
}

func (m *meter) window(from time.Time, length time.Duration) (least, most time.Duration) {
	l0, m0 := m.read(from)
	l1, m1 := m.read(from.Add(length))
	return max(l1-m0, 0), m1 - l0
}

func stateOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

func tracerOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "TracerPid:\t")
	tracer, _, _ := strings.Cut(rest, "\n")
	return tracer
}

func threadsOf(pid int) []int {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	var tids []int
	for _, dir := range dirs {
		var tid int
		if _, err := fmt.Sscan(filepath.Base(dir), &tid); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

func containsAll(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
