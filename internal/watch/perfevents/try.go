// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// ErrSilent means that events are permitted but give no samples.
var ErrSilent = errors.New("perf events are allowed, but no samples came")

// tryFor is CPU time, ns: some periods of a timer of 10 ms.
const (
	tryFreq = 9973
	tryFor  = 30e6
)

// Try reports whether the kernel gives samples that can be walked, mostly in 0.1 ms. Errors: [ErrDenied],
// [ErrUnsupported], [ErrSilent].
func Try() error {
	r, err := Open(Options{Freq: tryFreq, NoKernel: true, Stack: MinStack}) // the kernel clears all of a larger ring
	if err != nil {
		return err
	}
	return trySampling(r)
}

// TryPerThread is [Try] for [OpenPerThread].
func TryPerThread() error {
	r, err := OpenPerThread(Options{Freq: tryFreq})
	if err != nil {
		return err
	}
	return trySampling(r)
}

func trySampling(r *Reader) error {
	defer r.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if r.PerThread() {
		if err := r.OpenThread(unix.Gettid()); err != nil {
			return refusal(err)
		}
	}
	self, got := os.Getpid(), false
	// The samples are read once more after the time, which passes at once where a virtual machine gets no processor.
	end := procmem.ThreadCPU() + tryFor
	for over := false; !got && !over; {
		over = procmem.ThreadCPU() >= end
		r.Drain(func(rec *Record) { got = got || rec.Kind == Sampled && rec.PID == self && rec.Usable() })
	}
	if !got {
		return ErrSilent
	}
	return nil
}
