// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// # Samples of an ordinary user's threads
//
// With kernel.perf_event_paranoid 2 a user may sample own threads in user space (kernel/events/core.c, perf_event_open
// and find_get_context). Each processor has a ring, owned by an event that counts nothing, and each followed thread one
// event per processor (PERF_EVENT_IOC_SET_OUTPUT).

// OpenOwn prepares samples of the user's own threads ([Reader.Follow]). The error is [ErrDenied] or [ErrUnsupported].
func OpenOwn(o Options) (*Reader, error) {
	o.NoKernel, o.Tasks, o.Programs, o.Switches = true, false, false, false
	return openWithin(&Reader{opts: o, tasks: map[int][]int{}})
}

// Own reports whether threads are followed one by one.
func (r *Reader) Own() bool { return r.tasks != nil }

// Events gives the number of descriptors per followed thread.
func (r *Reader) Events() int { return len(r.rings) }

// Followed gives the number of followed threads.
func (r *Reader) Followed() int { return len(r.tasks) }

// Follow starts samples of a thread. The error wraps ESRCH if there is none. Precondition: Own.
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

// Unfollow ends samples of a thread.
func (r *Reader) Unfollow(tid int) {
	closeAll(r.tasks[tid])
	delete(r.tasks, tid)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // unwritten
	}
}

func (o *Options) ofUser() unix.PerfEventAttr {
	a := o.attr()
	a.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeCallchainKernel
	return a
}

// holder describes the event that owns a ring.
func (o *Options) holder() unix.PerfEventAttr {
	a := o.ofUser()
	a.Config = unix.PERF_COUNT_SW_DUMMY
	return a
}
