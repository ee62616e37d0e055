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

// cpuOf asks the kernel for the CPU time of a process, all its threads, gone ones too: the process's own
// clock (clock_getcpuclockid(3); MAKE_PROCESS_CPUCLOCK in the kernel's posix-timers.h).
func cpuOf(pid int) (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &ts)
	return time.Duration(ts.Nano()), err
}

// meter reads the CPU time of processes again and again, so that it can be told for any window within.
type meter struct {
	stop, done chan struct{}
	at         []time.Time
	cpu        []time.Duration
}

// startMeter measures processes until finish is called.
func startMeter(pids []int) *meter {
	m := &meter{stop: make(chan struct{}), done: make(chan struct{})}
	last := make([]time.Duration, len(pids))
	go func() {
		defer close(m.done)
		for {
			var sum time.Duration
			for i, pid := range pids {
				if cpu, err := cpuOf(pid); err == nil {
					last[i] = cpu
				}
				sum += last[i]
			}
			m.at, m.cpu = append(m.at, time.Now()), append(m.cpu, sum)
			select {
			case <-m.stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return m
}

// finish ends the measuring.
func (m *meter) finish() {
	close(m.stop)
	<-m.done
}

// read gives the CPU time at a moment, between two readings in proportion.
func (m *meter) read(at time.Time) time.Duration {
	i := sort.Search(len(m.at), func(i int) bool { return m.at[i].After(at) })
	if i == 0 || i == len(m.at) {
		return m.cpu[min(i, len(m.cpu)-1)]
	}
	part := float64(at.Sub(m.at[i-1])) / float64(m.at[i].Sub(m.at[i-1]))
	return m.cpu[i-1] + time.Duration(part*float64(m.cpu[i]-m.cpu[i-1]))
}

// window gives the CPU time that was used in a window.
func (m *meter) window(from time.Time, length time.Duration) time.Duration {
	return m.read(from.Add(length)) - m.read(from)
}

// stateOf gives the state letter of a process or thread, "" if it is gone (proc(5)).
func stateOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// tracerOf gives the TracerPid line's value.
func tracerOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "TracerPid:\t")
	tracer, _, _ := strings.Cut(rest, "\n")
	return tracer
}

// threadsOf lists the threads of a process.
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

// containsAll reports whether a text has all the words.
func containsAll(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
