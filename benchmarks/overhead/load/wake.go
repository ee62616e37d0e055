// SPDX-License-Identifier: Apache-2.0

package load

import (
	"runtime"

	"golang.org/x/sys/unix"

	"prywalk/internal/bench/load"
)

const (
	wakeEvery = 1e6
	wakeWork  = 16
)

// wake sleeps until each whole wakeEvery, and counts the work after it. The delay of the wake-up is the wait;
// wake-ups that are missed are left out, with their work.
func (p *program) wake(w *worker) error {
	go func() {
		runtime.LockOSThread()
		x := uint64(1)
		for p.ctx.Err() == nil {
			due := (load.Now()/wakeEvery + 1) * wakeEvery
			ts := unix.NsecToTimespec(due)
			for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
			}
			w.waits.add(load.Now() - due)
			for range wakeWork {
				x = load.Mix(x)
				w.n.Add(1)
			}
		}
		sink.Store(x)
	}()
	return nil
}
