// SPDX-License-Identifier: Apache-2.0

package selfhang

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// Deadman ends this process if its goroutines stand still, since no goroutine could: if it uses standStill of CPU time
// without a call of [Deadman.Reset], the kernel kills it (SIGKILL), which releases all threads. After a signal that the
// Go runtime handles, a service would not start again: the exit code would be that of wrong usage, 2. The clock is CPU
// time, as a process that is stopped, or waits for a CPU, is not at fault. A collection that waits for the others wakes
// each 100 µs (runtime/proc.go).
type Deadman struct {
	timer   procmem.Timer
	limit   int64
	created bool
}

// NewDeadman returns a Deadman that is set.
func NewDeadman() *Deadman { return newDeadman(standStill) }

const standStill = 10e9 // CPU time, ns

func newDeadman(limit int64) *Deadman {
	timer, e := procmem.NewTimer(unix.CLOCK_PROCESS_CPUTIME_ID, unix.SIGKILL, 0)
	d := &Deadman{timer: timer, limit: limit, created: e == 0}
	d.Reset()
	return d
}

// Reset sets it again.
func (d *Deadman) Reset() {
	if d.created {
		_ = d.timer.SetIn(d.limit)
	}
}

// Close ends it.
func (d *Deadman) Close() {
	if d.created {
		d.created = false
		d.timer.Delete()
	}
}
