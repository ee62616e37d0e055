// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// # Descendants of an ordinary user's processes
//
// An inherited event reports forks, execs, exits and switches of a thread's descendants, which give each one's CPU time
// by program. With kernel.perf_event_paranoid 2 it is permitted where ptrace_may_access permits.

const (
	// Bytes of a CPU's ring. A user has 512 KiB per CPU (kernel.perf_event_mlock_kb).
	descendantsRing    = 64 << 10
	minDescendantsRing = 16 << 10
	// maxDescendantsCPUs bounds the events per new thread, which make its creation slower.
	maxDescendantsCPUs = 64
)

// OpenDescendants prepares records of the threads of [Reader.OpenThread] and their descendants. Errors: [ErrDenied],
// [ErrUnsupported].
func OpenDescendants() (*Reader, error) {
	for size := descendantsRing; ; size /= 2 {
		r := &Reader{opts: Options{Freq: 1, NoKernel: true}, threads: map[int]sampledThread{}, ringBytes: size}
		err := r.openAll()
		if r.Events() > maxDescendantsCPUs {
			r.Close()
			return nil, fmt.Errorf("%w: each thread would have an event for each of many processors", ErrUnsupported)
		}
		if err == nil {
			return r, nil
		}
		if size == minDescendantsRing || !errors.Is(err, errNoRoom) {
			return nil, err
		}
	}
}

// TryDescendants is [Try] for [OpenDescendants].
func TryDescendants() error {
	r, err := OpenDescendants()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.OpenThread(unix.Gettid()); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return nil
}

func (o *Options) descendantsRingOwner() unix.PerfEventAttr {
	a := o.ringOwner()
	a.Sample, a.Sample_regs_user, a.Sample_stack_user = 0, 0, 0
	a.Sample_type = unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU
	return a
}

func (o *Options) descendants() unix.PerfEventAttr {
	a := o.descendantsRingOwner()
	a.Bits |= unix.PerfBitInherit | unix.PerfBitTask | unix.PerfBitComm | unix.PerfBitCommExec |
		unix.PerfBitContextSwitch
	return a
}

func (r *Reader) threadAttr() unix.PerfEventAttr {
	if r.ringBytes != 0 {
		return r.opts.descendants()
	}
	return r.opts.perThread()
}

// CPUsChanged reports whether CPUs were added or removed.
func (r *Reader) CPUsChanged() bool {
	online, err := r.cpuList(&cpuListBuffer{})
	return err != nil || string(online) != r.online
}
