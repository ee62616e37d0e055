// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// # What an ordinary user may have sampled
//
// With kernel.perf_event_paranoid 2 a user may have threads sampled that ptrace_may_access lets him read, one by one,
// and in user space only (kernel/events/core.c, perf_event_open and find_get_context). Such an event writes to the
// ring of another on the same processor (PERF_EVENT_IOC_SET_OUTPUT). So each processor has a ring here that belongs to
// an event which counts nothing, and each thread that is followed has one event a processor.
//
// While the thread is in the kernel the clock goes on, and no sample is taken. So of n periods of processor time fewer
// than n samples come; how many fewer is what the kernel had of it.

// OpenOwn prepares to sample threads of this user's, in user space, one by one ([Reader.Follow]). The error is
// [ErrDenied] or [ErrUnsupported].
func OpenOwn(o Options) (*Reader, error) {
	o.NoKernel, o.Tasks, o.Programs, o.Switches = true, false, false, false
	return openWithin(&Reader{opts: o, tasks: map[int][]int{}})
}

// Own reports whether threads are sampled one by one, in user space only.
func (r *Reader) Own() bool { return r.tasks != nil }

// Events gives how many descriptors it takes to follow one thread.
func (r *Reader) Events() int { return len(r.rings) }

// Followed gives how many threads are sampled one by one.
func (r *Reader) Followed() int { return len(r.tasks) }

// Follow has a thread sampled from now on. The error wraps ESRCH if there is no such thread any more. Precondition:
// Own.
func (r *Reader) Follow(tid int) error {
	if _, followed := r.tasks[tid]; followed {
		return nil
	}
	attr := r.followed()
	if r.still {
		attr.Bits |= unix.PerfBitDisabled
	}
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
	r.tasks[tid] = fds
	return nil
}

// Unfollow ends what Follow began, if it did.
func (r *Reader) Unfollow(tid int) {
	closeAll(r.tasks[tid])
	delete(r.tasks, tid)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // nothing was written
	}
}

// ofUser describes the event of a thread, in user space.
func (o *Options) ofUser() unix.PerfEventAttr {
	a := o.attr()
	a.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeCallchainKernel
	return a
}

// holder describes the event that a ring belongs to: it has the same clock and counts nothing.
func (o *Options) holder() unix.PerfEventAttr {
	a := o.ofUser()
	a.Config = unix.PERF_COUNT_SW_DUMMY
	return a
}
