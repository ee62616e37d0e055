// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// ErrSilent reports events that are allowed, and tell nothing.
var ErrSilent = errors.New("perf events are allowed, but no samples came")

// tryFreq is how often is sampled to try: so often that one is soon there. tryFor is for how long this thread runs for
// it at most, in nanoseconds of its processor time: some periods also where timers are as coarse as 10 ms.
const (
	tryFreq = 9973
	tryFor  = 30e6
)

// Try reports whether the kernel gives samples that can be walked: it samples this process itself, which runs until one
// is there, mostly for 0.1 ms. The error is [ErrDenied], [ErrUnsupported] or [ErrSilent].
func Try() error {
	r, err := Open(Options{Freq: tryFreq, NoKernel: true, Stack: LeastStack}) // the kernel clears all of a larger ring
	if err != nil {
		return err
	}
	return try(r)
}

// TryOwn is [Try] for what [OpenOwn] gives.
func TryOwn() error {
	r, err := OpenOwn(Options{Freq: tryFreq})
	if err != nil {
		return err
	}
	return try(r)
}

// try has this thread sampled, and closes the reader.
func try(r *Reader) error {
	defer r.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if r.Own() {
		if err := r.Follow(unix.Gettid()); err != nil {
			return refusal(err)
		}
	}
	self, got := os.Getpid(), false
	for end := threadCPU() + tryFor; !got && threadCPU() < end; {
		r.Drain(func(rec *Record) { got = got || rec.Kind == Sampled && rec.PID == self && rec.Usable() })
	}
	if !got {
		return ErrSilent
	}
	return nil
}

// threadCPU gives the processor time of this OS thread, in nanoseconds.
func threadCPU() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) // it exists since Linux 2.6.12
	return ts.Nano()
}
