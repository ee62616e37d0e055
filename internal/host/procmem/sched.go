// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"

	"prywalk/internal/base/sample"
)

// parseLastRun returns se.exec_start of a sched file (kernel/sched/debug.c, proc_sched_show_task) in ns.
func parseLastRun(b []byte) (int64, bool) {
	c := Cursor{Text: schedField(b, "\nse.exec_start")}
	ms, fraction, ok := bytes.Cut(c.Word(), []byte{'.'})
	ns := c.Number(ms, 10)*1e6 + c.Number(fraction, 10)
	return int64(ns), ok && !c.Bad && len(fraction) == 6 && len(c.Text) > 0 && ns < 1<<62
}

// parseSwitches returns nr_switches of a sched file, the departures from a CPU.
func parseSwitches(b []byte) (n uint64, ok bool) {
	c := Cursor{Text: schedField(b, "\nnr_switches")}
	n = c.Uint()
	return n, !c.Bad && len(c.Text) > 0
}

// schedField returns the text after a name and its colon. The last such name is the field's: the thread's name, any
// bytes, is before.
func schedField(b []byte, name string) []byte {
	i := bytes.LastIndex(b, []byte(name))
	if i < 0 {
		return nil
	}
	_, text, _ := bytes.Cut(b[i:], []byte{':'})
	return text
}

// arrivals of a thread on a CPU exceed its departures by one. The kernel does not count some 0.4 % of them: those of
// threads pre-empted on their way to sleep (kernel/sched/stats.h, sched_info_depart, sched_info_arrive).
type arrivals struct {
	runs, departures, cpu uint64
	uncounted             int64 // arrivals that runs is known to lack
}

// onCPU reports whether the thread is on a CPU. It may be wrong until the thread was seen off a CPU, or twice on one
// without a departure in between.
func (a *arrivals) onCPU(now SchedStat, departures uint64) bool {
	missing := int64(departures - now.Runs)
	uncounted := missing
	if now.Runs == a.runs && departures == a.departures && now.CPU > a.cpu { // the thread has run: it is on a CPU
		uncounted++
	}
	a.runs, a.departures, a.cpu = now.Runs, departures, now.CPU
	a.uncounted = max(a.uncounted, uncounted)
	return missing < a.uncounted
}

// SchedStat is /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst). While the thread is on a CPU, it changes
// at the kernel's ticks only.
type SchedStat struct {
	CPU      uint64 // ns
	RunQueue uint64 // ns; grows when the thread arrives on a CPU
	Runs     uint64 // arrivals on a CPU
}

// ReadingAt converts the clocks; at is CLOCK_MONOTONIC, ns.
func ReadingAt(s SchedStat, at int64) sample.Reading {
	return sample.Reading{Wall: at, CPU: int64(s.CPU), RunQueue: int64(s.RunQueue)}
}

// ParseSchedStat returns zeros without CONFIG_SCHED_INFO. Error: [errFormat].
func ParseSchedStat(b []byte) (SchedStat, error) {
	c := Cursor{Text: b}
	s := SchedStat{CPU: c.Uint(), RunQueue: c.Uint(), Runs: c.Uint()}
	if c.Bad {
		return SchedStat{}, errFormat
	}
	return s, nil
}
