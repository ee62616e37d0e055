// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// # Filters that kill
//
// A seccomp filter refuses perf_event_open mostly, with EPERM. Some kill the thread or process that makes the call.
// Whoever is under a filter therefore has a child ask first. It inherits the filter.

// childFor is how long the child may take: a thread that was killed cannot say so, and the others wait for ever.
const childFor = 2 * time.Second

// Survivable reports whether this process may ask for perf events without being killed. child is a command that does
// nothing but [Ask], and ends with 0. It is run only where this process is under a filter. The error is an
// [ErrUnsupported].
func Survivable(child func(context.Context) *exec.Cmd) error {
	if !filtered() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), childFor)
	defer cancel()
	cmd := child(ctx)
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: a seccomp filter kills the process that asks for them", ErrUnsupported)
	}
	return nil
}

// Ask asks for an event, whatever the answer.
func Ask() {
	a := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: unix.PERF_ATTR_SIZE_VER5,
	}
	if fd, err := unix.PerfEventOpen(&a, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC); err == nil {
		_ = unix.Close(fd) // nothing was written
	}
}

// filtered reports whether this thread is under a seccomp filter.
func filtered() bool {
	b, err := os.ReadFile("/proc/thread-self/status")
	return err == nil && strings.Contains(string(b), "\nSeccomp:\t2")
}
