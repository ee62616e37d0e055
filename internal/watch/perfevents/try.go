// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// childTimeout bounds the wait for the child, as a filter may kill only one of its threads.
const childTimeout = 2 * time.Second

// CheckSeccomp returns [ErrUnsupported] if a seccomp filter kills callers of perf_event_open. It tries in a child:
// child makes a command that calls [TryOpen] and exits with 0.
func CheckSeccomp(child func(context.Context) *exec.Cmd) error {
	if !filtered() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), childTimeout)
	defer cancel()
	cmd := child(ctx)
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: a seccomp filter kills the process that asks for them", ErrUnsupported)
	}
	return nil
}

// TryOpen opens an event and ignores the result.
func TryOpen() {
	a := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: unix.PERF_ATTR_SIZE_VER5,
	}
	if fd, err := unix.PerfEventOpen(&a, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC); err == nil {
		_ = unix.Close(fd)
	}
}

func filtered() bool {
	var s procmem.Status
	return procmem.ReadStatus(unix.Gettid(), &s) == nil && s.Seccomp == unix.SECCOMP_MODE_FILTER
}

// ErrSilent means that events are permitted but give no samples.
var ErrSilent = errors.New("perf events are allowed, but no samples came")

// tryFor is CPU time: some periods of a timer of 10 ms.
const (
	tryFreq = 9973
	tryFor  = 30 * time.Millisecond
)

// Try reports whether the kernel gives samples that can be walked, mostly in 0.1 ms. Errors: [ErrDenied],
// [ErrUnsupported], [ErrSilent].
func Try() error {
	r, err := Open(ReaderOptions{Freq: tryFreq, NoKernel: true, Stack: MinStack}) // the kernel clears all of a larger ring
	if err != nil {
		return err
	}
	return trySampling(r)
}

// TryPerThread is [Try] for [OpenPerThread].
func TryPerThread() error {
	r, err := OpenPerThread(ReaderOptions{Freq: tryFreq})
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
	end := time.Duration(procmem.ThreadCPU()) + tryFor
	for over := false; !got && !over; {
		over = time.Duration(procmem.ThreadCPU()) >= end
		r.Drain(func(rec *Record) { got = got || rec.Kind == Sampled && rec.PID == self && rec.Usable() })
	}
	if !got {
		return ErrSilent
	}
	return nil
}
