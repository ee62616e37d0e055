// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

type account struct{ clock, ticks, sched time.Duration }

type meter struct {
	stop, done chan struct{}
	pids       []int
	times      []time.Time
	accounts   []account
	last       map[int]account // keeps ended processes, so that a sum does not fall
	threads    map[int]time.Duration
}

const meterEvery = 10 * time.Millisecond

func startMeter(pids []int) *meter {
	m := &meter{
		stop: make(chan struct{}), done: make(chan struct{}), pids: pids,
		last: map[int]account{}, threads: map[int]time.Duration{},
	}
	m.read()
	go func() {
		defer close(m.done)
		tick := time.NewTicker(meterEvery)
		defer tick.Stop()
		for {
			select {
			case <-m.stop:
				m.read()
				return
			case <-tick.C:
				m.read()
			}
		}
	}()
	return m
}

func (m *meter) finish() {
	close(m.stop)
	<-m.done
}

func (m *meter) read() {
	var sum account
	for _, pid := range m.pids {
		a := m.last[pid]
		a.clock = max(a.clock, processClock(pid))
		a.ticks = max(a.ticks, statTime(pid))
		m.last[pid] = a
		m.readThreads(pid)
		sum.clock += a.clock
		sum.ticks += a.ticks
	}
	for _, d := range m.threads {
		sum.sched += d
	}
	m.times, m.accounts = append(m.times, time.Now()), append(m.accounts, sum)
}

func (m *meter) readThreads(pid int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range files {
		tid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		text, _ := os.ReadFile(file)
		field, _, _ := strings.Cut(string(text), " ")
		if ns, err := strconv.ParseInt(field, 10, 64); err == nil {
			m.threads[tid] = max(m.threads[tid], time.Duration(ns))
		}
	}
}

func (m *meter) at(t time.Time) account {
	i := sort.Search(len(m.times), func(i int) bool { return m.times[i].After(t) })
	if i == 0 || i == len(m.times) {
		return m.accounts[min(i, len(m.accounts)-1)]
	}
	part := float64(t.Sub(m.times[i-1])) / float64(m.times[i].Sub(m.times[i-1]))
	a, b := m.accounts[i-1], m.accounts[i]
	between := func(x, y time.Duration) time.Duration { return x + time.Duration(part*float64(y-x)) }
	return account{between(a.clock, b.clock), between(a.ticks, b.ticks), between(a.sched, b.sched)}
}

// processClock includes ended threads (clock_getcpuclockid(3); MAKE_PROCESS_CPUCLOCK). 0: the process is gone.
func processClock(pid int) time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|2), &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// statTime is fields 14 and 15 of proc_pid_stat(5). 0: the process is gone.
func statTime(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := strings.LastIndexByte(string(text), ')')
	fields := strings.Fields(string(text[i+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * userTick
}
