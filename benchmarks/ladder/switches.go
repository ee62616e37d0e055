// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// switches of a processor (proc_pid_status(5)): by sleeps or stops, or as another thread took it.
type switches struct{ Voluntary, Preempted int64 }

func (s switches) sum() int64 { return s.Voluntary + s.Preempted }

func (s switches) minus(t switches) switches {
	return switches{s.Voluntary - t.Voluntary, s.Preempted - t.Preempted}
}

func switchesOf(pid int, tids []int) (switches, error) {
	var sum switches
	for _, tid := range tids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
		if err != nil {
			return sum, err
		}
		s, err := parseSwitches(string(text))
		if err != nil {
			return sum, fmt.Errorf("thread %d: %w", tid, err)
		}
		sum.Voluntary += s.Voluntary
		sum.Preempted += s.Preempted
	}
	return sum, nil
}

func parseSwitches(text string) (s switches, err error) {
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		var to *int64
		switch name {
		case "voluntary_ctxt_switches":
			to = &s.Voluntary
		case "nonvoluntary_ctxt_switches":
			to = &s.Preempted
		default:
			continue
		}
		if *to, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		found++
	}
	if found != 2 {
		return s, fmt.Errorf("the kernel does not tell context switches in /proc/PID/status")
	}
	return s, nil
}

func threadsOf(pid int) ([]int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, err
}
