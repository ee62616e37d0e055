// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// # Samples of a command and its descendants
//
// The thread that starts a command has one event for each CPU. Each new process and thread inherits them (inherit),
// with rings and all, so that processes are sampled that end before they are found:
//
//	prywalk's thread: event for CPU 0 ──► ring        its period is drawn again at each reading
//	    └─ command: event for CPU 0 ──────►│          its period is as drawn last before the thread was created
//	           └─ child: …                 │
//
// The kernel fixes what is inherited. Each thread begins with a whole period: with one and the same period, threads
// that live for less would never be sampled, and others at fixed ages.

// Bounds of a command's samples. A new thread costs 3 to 5 µs for each CPU (kernel/events/core.c, inherit_event). The
// rate of a thread cannot be lowered, so it stays within the default limit of what targets lose.
const (
	maxCommandCPUs = 16
	maxCommandFreq = 800 // samples/s, the mean over threads
	drawnAtOnce    = 8   // CPUs
)

type command struct {
	parent   int   // thread that starts it; 0: none
	period   int64 // mean, ns
	nextRing int   // whose period is drawn next
}

// SampleCommand samples all that a thread of this process, which sleeps, creates from now on, and their descendants, in
// place of single threads. The Reader is paused. It returns false if the rate or the number of CPUs is too great, or
// the kernel refuses: then single threads are sampled. Preconditions: PerThread; no thread is open.
func (r *Reader) SampleCommand(parent int) bool {
	if r.opts.Freq > maxCommandFreq || len(r.rings) > maxCommandCPUs {
		return false
	}
	threads := r.threads
	r.Close() // both would take twice the locked memory
	r.threads, r.command = nil, command{parent: parent, period: max(r.Period()/firstSamples, 1e9/maxCommandFreq)}
	ok := r.openAll() == nil
	if !ok {
		r.threads, r.command = threads, command{}
		_ = r.openAll() // OpenThread finds that there are no rings
	}
	r.Pause()
	return ok
}

// UserOnly reports whether samples are of user space only.
func (r *Reader) UserOnly() bool { return r.PerThread() || r.ofCommand() }

func (r *Reader) ofCommand() bool { return r.command.parent != 0 }

func (c *command) attr(o *Options) unix.PerfEventAttr {
	a := o.userOnly()
	a.Bits |= unix.PerfBitInherit
	a.Sample = c.drawnPeriod()
	return a
}

// drawnPeriod is half to double of the mean, its logarithm uniform: then, from an age of the longest period on, each
// moment of a thread's life has the same expected weight (Σ over k of the periods t/k at age t).
func (c *command) drawnPeriod() uint64 {
	return uint64(float64(c.period) * math.Exp2(2*rand.Float64()-1))
}

func (c *command) varyPeriods(rings []*ring) {
	for range min(len(rings), drawnAtOnce) {
		c.nextRing = (c.nextRing + 1) % len(rings)
		_ = procmem.SetPeriod(rings[c.nextRing].fd, c.drawnPeriod()) // else new threads have the one before
	}
}

// PeriodOf returns the CPU time that a sample stands for, ns.
func (r *Reader) PeriodOf(sample *Record) int64 {
	if r.ofCommand() {
		return sample.Period // the parent's own event, which is changed, takes no samples
	}
	return r.PeriodAt(sample.TID, sample.Time)
}

// childTimeout: a filter may kill only one of the child's threads.
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
