// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"os"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// ownLoad finds out whether the calling thread is often queued for a CPU, at ordinary priority on a busy host. A thread
// that it stops would wait for it.
type ownLoad struct {
	isHigh bool

	isRaised     bool // its priority: stops come in time
	files        *procmem.ThreadFiles
	at           int64 // of the last reading, CLOCK_MONOTONIC ns; 0 means none
	queuedBefore uint64
	failedAt     int64 // the last reading, if it failed; 0 means that it did not
}

const (
	// The load is high if the thread was queued for more than 1/highShare of the time.
	highShare = 10
	// It is measured every highAfter ns, and lowAfter ns after it was found high.
	highAfter, lowAfter = 250e6, 10e9
)

func (l *ownLoad) measure(now int64) {
	if l.isRaised || l.failedAt != 0 && now-l.failedAt < highAfter ||
		l.at != 0 && now-l.at < highAfter || l.isHigh && now-l.at < lowAfter {
		return
	}
	if l.files == nil {
		a, err := unix.SchedGetAttr(0, 0)
		l.isRaised = err == nil && (a.Policy == unix.SCHED_FIFO || a.Policy == unix.SCHED_RR || a.Nice < 0)
		if l.isRaised {
			return
		}
		l.files = procmem.OpenThread(os.Getpid(), unix.Gettid(), procmem.NewFDBudget(0))
	}
	sched, err := l.files.SchedStat()
	if err != nil { // the tracer goes on in another OS thread
		l.close()
		l.failedAt = now
		return
	}
	l.learn(now, sched.RunQueue)
}

func (l *ownLoad) learn(now int64, queued uint64) {
	l.failedAt = 0
	l.isHigh = l.at != 0 && int64(queued-l.queuedBefore)*highShare > now-l.at
	l.at, l.queuedBefore = now, queued
}

// close forgets the thread.
func (l *ownLoad) close() {
	if l.files != nil {
		l.files.Close()
	}
	*l = ownLoad{}
}
