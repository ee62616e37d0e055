// SPDX-License-Identifier: Apache-2.0

package procmem

import "bytes"

// parseLastRun returns se.exec_start of a sched file (kernel/sched/debug.c, proc_sched_show_task) in ns.
func parseLastRun(b []byte) (int64, bool) {
	i := bytes.Index(b, []byte("se.exec_start"))
	if i < 0 {
		return 0, false
	}
	b = b[i:]
	i = bytes.IndexByte(b, ':')
	if i < 0 {
		return 0, false
	}
	var ns, digits int64
	point := false
	for _, ch := range b[i+1:] {
		switch {
		case ch == ' ' && digits == 0:
		case ch == '.' && !point && digits > 0:
			point, digits = true, 0
		case ch >= '0' && ch <= '9':
			if ns > 1<<58 {
				return 0, false
			}
			ns = 10*ns + int64(ch-'0')
			digits++
		case ch == '\n':
			return ns, point && digits == 6
		default:
			return 0, false
		}
	}
	return 0, false
}

// parseSwitches returns nr_switches of a sched file, the departures from a CPU.
func parseSwitches(b []byte) (n uint64, ok bool) {
	i := bytes.LastIndex(b, []byte("\nnr_switches")) // after the thread's name, any bytes
	if i < 0 {
		return 0, false
	}
	b = b[i+1:]
	if i = bytes.IndexByte(b, ':'); i < 0 {
		return 0, false
	}
	digits := 0
	for _, ch := range b[i+1:] {
		switch {
		case ch == ' ' && digits == 0:
		case ch >= '0' && ch <= '9' && digits < 19:
			n, digits = 10*n+uint64(ch-'0'), digits+1
		default:
			return n, ch == '\n' && digits > 0
		}
	}
	return 0, false
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
