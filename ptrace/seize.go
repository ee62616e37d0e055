// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// # Seizures that block
//
// A thread in exec waits until the other threads of its process are gone, and traced ones reaped. It holds
// cred_guard_mutex, which PTRACE_SEIZE takes (fs/exec.c, de_thread; kernel/ptrace.c, ptrace_attach). A tracer that
// seizes another thread of that process deadlocks unless another OS thread reaps.

// A thread that execs takes the ID of its process's first thread, which is a zombie until then (de_thread); a seizure
// of that one fails with EPERM, as of a traced thread. The next one is of the thread with the new program.
const maxSeizures = 3

// seize tries again if nothing refuses it any more.
func (s *stopper) seize(tid int) (err error) {
	for range maxSeizures {
		if err = s.seizeOnce(tid); !errors.Is(err, errNotRefusedNow) {
			return err
		}
	}
	return ErrTraced
}

// seizeOnce may block until the rescuer ends the wait, whose goroutine must run then, whatever waits for this one's P.
func (s *stopper) seizeOnce(tid int) error {
	s.rescuer.seizeBegan.Store(procmem.Now())
	s.rescuer.seizeSeen.Store(true)
	e := ptraceMayWait(unix.PTRACE_SEIZE, tid)
	s.rescuer.seizeBegan.Store(0)
	if e != 0 {
		return seizeRefused(tid, e, s.seized || !mayBeSeccompFiltered())
	}
	s.seized = true
	return nil
}
