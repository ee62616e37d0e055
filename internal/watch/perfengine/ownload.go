// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

// ownLoad finds out whether the calling thread is often queued for a CPU, at ordinary priority on a busy host. A thread
// that it stops would wait for it.
type ownLoad struct {
	isHigh bool

	isRaised     bool // its priority: stops come in time
	files        *procmem.ThreadFiles
	at           ptrace.Moment // of the last reading; 0 means none
	queuedBefore time.Duration
	failedAt     ptrace.Moment // the last reading, if it failed; 0 means that it did not
}

const (
	// The load is high if the thread was queued for more than 1/highShare of the time.
	highShare = 10
	// It is measured every highAfter, and lowAfter after it was found high.
	highAfter, lowAfter = 250 * time.Millisecond, 10 * time.Second
)

func (l *ownLoad) measure(now ptrace.Moment) {
	if l.isRaised || l.failedAt != 0 && now.Sub(l.failedAt) < highAfter ||
		l.at != 0 && now.Sub(l.at) < highAfter || l.isHigh && now.Sub(l.at) < lowAfter {
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
	l.learn(now, time.Duration(sched.RunQueue))
}

func (l *ownLoad) learn(now ptrace.Moment, queued time.Duration) {
	l.failedAt = 0
	l.isHigh = l.at != 0 && (queued-l.queuedBefore)*highShare > now.Sub(l.at)
	l.at, l.queuedBefore = now, queued
}

// close forgets the thread.
func (l *ownLoad) close() {
	if l.files != nil {
		l.files.Close()
	}
	*l = ownLoad{}
}
