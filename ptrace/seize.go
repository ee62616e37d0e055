// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// # Seizures that block
//
// A thread in exec waits until the other threads of its process are gone, and traced ones reaped. It holds
// cred_guard_mutex, which PTRACE_SEIZE takes (fs/exec.c, de_thread; kernel/ptrace.c, ptrace_attach). A tracer that
// seizes another thread of that process deadlocks unless another OS thread reaps.

// seize may block until the rescuer ends the wait, so it releases the P if a garbage collection can begin.
func (s *stopper) seize(tid int) error {
	s.rescuer.seizeBegan.Store(procmem.Now())
	s.rescuer.seizeSeen.Store(true)
	var e syscall.Errno
	if s.noGC {
		e = ptrace(unix.PTRACE_SEIZE, tid, 0, 0)
	} else {
		e = ptraceMayWait(unix.PTRACE_SEIZE, tid)
	}
	s.rescuer.seizeBegan.Store(0)
	if e != 0 {
		return seizeRefused(tid, e, s.seized || !mayBeSeccompFiltered())
	}
	s.seized = true
	return nil
}
