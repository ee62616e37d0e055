// SPDX-License-Identifier: Apache-2.0

package procmem

import "bytes"

// ParseLastRun finds se.exec_start in the text of a sched file (proc_sched_show_task
// in the kernel's kernel/sched/debug.c), in nanoseconds: it is printed as
// milliseconds with six decimals. False if it is not there.
func ParseLastRun(b []byte) (int64, bool) {
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

// ParseSwitches finds nr_switches in the text of a sched file: how often the thread was taken off a processor. False if
// it is not there.
func ParseSwitches(b []byte) (n uint64, ok bool) {
	i := bytes.LastIndex(b, []byte("\nnr_switches")) // a thread's name, before it, may be anything
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

// turns tells from the numbers of a thread's arrivals on a processor and of its departures whether it is on one. It has
// then arrived once more than it has left.
//
// The kernel forgets some arrivals: it counts those of threads that it knows to be queued. One that it preempts on its
// way to sleep it does not know to be (kernel/sched/stats.h, sched_info_depart and sched_info_arrive). Of a thread's
// 95,934 arrivals 396 were not counted. So it is found out how many are missing.
type turns struct {
	runs, left, cpu uint64 // at the last reading
	forgotten       int64  // arrivals, at least
}

// on is to be called with what was read of the thread. It errs on one side: who is on a processor may be taken for
// queued until it was read off it, or at two readings without leaving it.
func (t *turns) on(now SchedStat, left uint64) bool {
	missing := int64(left - now.Runs) // one less than are forgotten, if it is on a processor
	off := missing
	if now.Runs == t.runs && left == t.left && now.CPU > t.cpu { // it has run, and not left
		off++
	}
	t.runs, t.left, t.cpu = now.Runs, left, now.CPU
	t.forgotten = max(t.forgotten, off)
	return missing < t.forgotten
}
