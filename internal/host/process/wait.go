// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strings"

	"prywalk/frames"
)

// WaitLabel names what a sleeping thread waits for. nr is its system call (−1: none or unknown), wchan its wchan file's
// text or "". The label is the call's name; outside of a call, as in a page fault, the kernel function; or "".
func WaitLabel(arch frames.Arch, nr int64, wchan []byte) string {
	if nr >= 0 {
		return SyscallName(arch, nr)
	}
	return kernelReason(wchan)
}

// clocks exceeds the numbers of clocks of the system (MAX_CLOCKS, include/uapi/linux/time.h).
const clocks = 16

// ResumedCall names the system call that restart_syscall(2) continues, or "": there are three kinds (struct
// restart_block, include/linux/restart_block.h). firstArgument is that of both calls. wchan is as in [WaitLabel].
func ResumedCall(firstArgument uint64, wchan []byte) string {
	s := strings.TrimSpace(string(wchan))
	switch {
	case s == "" || s == "0":
		return ""
	case strings.Contains(s, "futex"):
		return "futex"
	case strings.Contains(s, "poll"):
		return "poll"
	case firstArgument < clocks: // no pointer
		return "clock_nanosleep"
	}
	return "nanosleep"
}

func kernelReason(wchan []byte) string {
	s := strings.TrimSpace(string(wchan))
	switch {
	case s == "" || s == "0":
		return ""
	case strings.HasPrefix(s, "folio_wait"), strings.HasPrefix(s, "wait_on_page"),
		s == "__lock_page_or_retry", s == "__folio_lock_or_retry":
		return "page fault"
	case s == "handle_userfault":
		return "userfault"
	case s == "__refrigerator" || s == "do_freezer_trap":
		return "frozen"
	}
	return s
}
