// SPDX-License-Identifier: Apache-2.0

package load

import (
	"runtime"

	"golang.org/x/sys/unix"

	"prywalk/benchmarks/bench/load"
)

const (
	wakeEvery = 1e6
	wakeWork  = 16
)

// A wait is the wake-up's delay; missed ones are left out.
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
