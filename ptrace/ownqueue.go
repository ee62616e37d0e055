// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"

	"prywalk/internal/procmem"
)

// ownQueue measures how long the tracer's own thread is queued for a CPU, at ordinary priority: a stop that ends its
// sleep lasts longer by that time. The kernel counts it from the wake-up to the arrival on a CPU (kernel/sched/stats.h,
// sched_info_enqueue, sched_info_arrive), with the time in which a CPU quota throttles the thread, but without that in
// which this process is stopped (SIGSTOP) or frozen, and without steal time.
type ownQueue struct {
	files    *procmem.ThreadFiles // nil: not measured
	ordinary bool                 // always at ordinary priority
	watchdog *watchdog            // nil: none
	before   uint64               // ns
	ok       bool                 // before is valid
}

func (q *ownQueue) open(tid int, ordinary bool, w *watchdog) {
	if ordinary || w != nil {
		q.files = procmem.OpenThread(os.Getpid(), tid, procmem.NewFDBudget(0))
		q.ordinary, q.watchdog = ordinary, w
		if ordinary { // else once the watchdog has lowered it: at real-time priority no path below /proc is opened
			_, _ = q.files.SchedStat() // opens the file
		}
	}
}

func (q *ownQueue) begin() {
	q.ok = false
	if q.files != nil && (q.ordinary || q.watchdog.hasLowered()) {
		q.before, q.ok = q.read()
	}
}

// end returns the time in ns since begin; at real-time priority 0.
func (q *ownQueue) end() int64 {
	if !q.ok {
		return 0
	}
	after, ok := q.read()
	if !ok {
		return 0
	}
	return int64(after - q.before)
}

func (q *ownQueue) read() (ns uint64, ok bool) {
	procmem.CountWait() // its call depends on the machine's load
	sched, err := q.files.SchedStat()
	return sched.RunQueue, err == nil
}

func (q *ownQueue) close() {
	if q.files != nil {
		q.files.Close()
	}
}
