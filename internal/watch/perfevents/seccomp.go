// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

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
