// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// # What an ordinary user is told of descendants
//
// An event of a thread that children inherit need not count or sample anything: its records alone tell what becomes of
// them. They say who was born of whom, what program runs, and when each thread got a processor and lost it. So the
// processor time of a command of a millisecond is known, and its program. With kernel.perf_event_paranoid 2 each user
// may have that of processes that ptrace_may_access lets him read.
//
// The counts of inherited events would tell the same sum (PERF_RECORD_READ, inherit_stat). But they know nothing of
// exec, and there are kernels that do not tell them when a thread ends. An event for all processors may not be
// inherited and have a ring. So there is one for each, as of [OpenOwn].
//
// Each switch is a record, for each thread that has such an event. Who asks for them should give up where there are
// very many.

// kinRing and leastKinRing are the bytes of a processor's ring: as much as there is room for. A user has 512 KiB for
// each processor, perf's own rings included (kernel.perf_event_mlock_kb).
const (
	kinRing      = 64 << 10
	leastKinRing = 16 << 10
	// mostKinProcessors bounds the events of each thread, and so what its birth costs.
	mostKinProcessors = 64
)

// OpenKin prepares to be told of births, programs, switches and ends of this user's threads that [Reader.Follow] names,
// and of all their descendants. Nobody is sampled. The error is [ErrDenied] or [ErrUnsupported].
func OpenKin() (*Reader, error) {
	for size := kinRing; ; size /= 2 {
		r := &Reader{opts: Options{Freq: 1, NoKernel: true}, tasks: map[int][]int{}, kin: size}
		err := r.openAll()
		if r.Events() > mostKinProcessors {
			r.Close()
			return nil, fmt.Errorf("%w: each thread would have an event for each of many processors", ErrUnsupported)
		}
		if err == nil || size == leastKinRing || !errors.Is(err, errNoRoom) {
			return r, err
		}
	}
}

// TryKin reports whether the kernel tells of descendants. The error is [ErrDenied] or [ErrUnsupported].
func TryKin() error {
	r, err := OpenKin()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Follow(unix.Gettid()); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return nil
}

// kinHolder describes the event that a ring belongs to: it tells nothing.
func (o *Options) kinHolder() unix.PerfEventAttr {
	a := o.holder()
	a.Sample, a.Sample_regs_user, a.Sample_stack_user = 0, 0, 0
	a.Sample_type = unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU // as behind each record
	return a
}

// ofKin describes the event of a thread and of all that it gives birth to.
func (o *Options) ofKin() unix.PerfEventAttr {
	a := o.kinHolder()
	a.Bits |= unix.PerfBitInherit | unix.PerfBitTask | unix.PerfBitComm | unix.PerfBitCommExec |
		unix.PerfBitContextSwitch
	return a
}

// followed describes the event of a thread that [Reader.Follow] names.
func (r *Reader) followed() unix.PerfEventAttr {
	if r.kin != 0 {
		return r.opts.ofKin()
	}
	return r.opts.ofUser()
}

// ringOf gives the bytes of a ring, a power of two.
func (r *Reader) ringOf() int {
	if r.kin != 0 {
		return r.kin
	}
	return ringSize(r.opts.Stack)
}

// Moved reports whether processors have come or gone since it was opened: who runs there is not told.
func (r *Reader) Moved() bool {
	online, err := r.processors()
	return err != nil || online != r.online
}
