// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// addedSlack is what RelaxTimers adds to the timer slack.
const addedSlack = 10 * time.Millisecond

// RelaxTimers restarts this program with a timer slack (prctl(2), PR_SET_TIMERSLACK) of 10 ms more, which the exec
// keeps and all threads inherit. The Go runtime's sysmon (runtime/proc.go) sleeps 20 µs at a time until it was idle for
// 1 ms, and ticks keep it awake: with the kernel's slack of 50 µs it takes 2 to 3 % of a CPU. Another thread's slack
// can be changed with CAP_SYS_NICE only (fs/proc/base.c, timerslack_ns_write), and sysmon starts before main. Threads
// that need exact sleeps set their own slack.
//
// It must be called on the first thread: an exec of another thread makes the first a zombie until all others have ended
// (fs/exec.c, de_thread), so that a supervisor may take the process for ended.
//
// A caller whose own slack is 10 ms or more looks like a restart: nothing is changed, and commands get 10 ms less. Nor
// is a stripped program restarted, as the exec would lose signals that were ignored ([startSignals]).
func RelaxTimers(args []string) {
	path, err := os.Executable()
	if err != nil || slack >= addedSlack || !startSignals().exact {
		return
	}
	if setSlack(slack+addedSlack) != nil || currentSlack() < addedSlack { // of a real-time thread it stays 0
		return
	}
	mask := startSignals().inherit()
	_ = syscall.Exec(path, args, environment())
	// It failed: the program goes on, but signals that were ignored at its start stay so.
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &mask, nil)
	_ = setSlack(slack)
}

// inherit gives the calling thread, which is locked, the state of this program's start, and returns its former mask.
func (s signalState) inherit() (mask unix.Sigset_t) {
	for sig := uintptr(1); sig <= lastSignal; sig++ {
		if s.ignored&procmem.SetOf(syscall.Signal(sig)) != 0 {
			setAction(sig, procmem.SigIgn)
		}
	}
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{Val: [16]uint64{uint64(s.blocked)}}, &mask)
	return mask
}

// slack is the first thread's, on which packages are initialised.
var slack = currentSlack()

func currentSlack() time.Duration {
	slack, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	return time.Duration(slack)
}

func setSlack(slack time.Duration) error {
	return unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
}

// callersSlack is that of this program's caller, for its children; 10 ms less if that is 10 ms or more.
func callersSlack() time.Duration {
	if slack < addedSlack {
		return slack
	}
	return slack - addedSlack
}
