// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/monotonic"
	"prywalk/internal/host/procmem"
)

// # Samples of an ordinary user's threads
//
// With kernel.perf_event_paranoid 2 a user may sample own threads in user space (kernel/events/core.c, perf_event_open
// and find_get_context). Each CPU has a ring, owned by an event that counts nothing, to which an event of each thread
// writes (PERF_EVENT_IOC_SET_OUTPUT).

// A thread's first samples have 1/firstSamples of the period: each CPU's event begins with a whole one, so that a
// thread that runs for less would never be sampled.
const firstSamples = 8

type sampledThread struct {
	events         []int         // descriptors, one for each CPU
	period, before time.Duration // of each event, now and before the last change
	changedAt      monotonic.Moment
}

// OpenPerThread prepares samples of the user's own threads ([Reader.OpenThread]). Its errors are those of [Open].
func OpenPerThread(o ReaderOptions) (*Reader, error) {
	o.NoKernel = true
	return openWithin(&Reader{opts: o, threads: map[int]sampledThread{}})
}

// PerThread reports whether threads are sampled one by one.
func (r *Reader) PerThread() bool { return r.threads != nil }

// CPUs returns the number of sampled CPUs.
func (r *Reader) CPUs() int { return len(r.rings) }

// ThreadFiles returns the number of descriptors that a thread's events take.
func (r *Reader) ThreadFiles() int {
	if r.PerThread() {
		return len(r.rings)
	}
	return 0
}

// OpenThreads returns the number of threads with events.
func (r *Reader) OpenThreads() int { return len(r.threads) }

// OpenThread starts samples of a thread, unless it has them. The error wraps ESRCH if there is none.
func (r *Reader) OpenThread(tid int) error {
	if _, followed := r.threads[tid]; followed || !r.PerThread() {
		return nil
	}
	if len(r.rings) == 0 {
		return errNoRoom
	}
	attr := r.opts.perThread()
	if r.paused {
		attr.Bits |= unix.PerfBitDisabled
	}
	attr.Sample /= firstSamples
	fds := make([]int, 0, len(r.rings))
	for _, g := range r.rings {
		fd, err := unix.PerfEventOpen(&attr, tid, g.cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == nil {
			fds = append(fds, fd)
			err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, g.fd)
		}
		if err != nil {
			closeAll(fds)
			return fmt.Errorf("thread %d on processor %d: %w", tid, g.cpu, err)
		}
	}
	r.threads[tid] = sampledThread{events: fds, period: time.Duration(attr.Sample)}
	return nil
}

// SetWholePeriod ends a thread's first samples. The parts of periods that have passed are lost. It returns false if the
// kernel refuses.
func (r *Reader) SetWholePeriod(tid int) bool {
	period := r.opts.drawnPeriod()
	thread, ok := r.threads[tid]
	for _, fd := range thread.events {
		ok = procmem.SetPeriod(fd, uint64(period)) == nil && ok
	}
	if ok {
		r.threads[tid] = sampledThread{thread.events, period, thread.period, monotonic.Moment(procmem.Now())}
	}
	return ok
}

// ThreadPeriod returns the CPU time per sample of a thread.
func (r *Reader) ThreadPeriod(tid int) time.Duration { return r.PeriodAt(tid, math.MaxInt64) }

// CloseThread ends a thread's samples.
func (r *Reader) CloseThread(tid int) {
	closeAll(r.threads[tid].events)
	delete(r.threads, tid)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

func (o *ReaderOptions) userOnly() unix.PerfEventAttr {
	a := o.attr()
	a.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeCallchainKernel
	return a
}

func (o *ReaderOptions) perThread() unix.PerfEventAttr {
	ofThread := *o
	ofThread.Programs = false
	return ofThread.userOnly()
}

func (o *ReaderOptions) ringOwner() unix.PerfEventAttr {
	a := o.perThread()
	a.Config = unix.PERF_COUNT_SW_DUMMY
	return a
}
