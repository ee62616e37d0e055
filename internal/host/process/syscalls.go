// SPDX-License-Identifier: Apache-2.0

package process

import (
	_ "embed"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"prywalk/frames"
)

//go:generate go run ../../../tools/syscalls/main.go

//go:embed syscalls_x86.txt
var syscallsX86 string

//go:embed syscalls_aarch64.txt
var syscallsARM64 string

// The names of system calls by number, "" for a gap.
var (
	namesX86   = sync.OnceValue(func() []string { return parseNames(syscallsX86) })
	namesARM64 = sync.OnceValue(func() []string { return parseNames(syscallsARM64) })
)

// parseNames takes a line for each number, the lowest first.
func parseNames(table string) (names []string) {
	for line := range strings.Lines(table) {
		nr, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(nr); err == nil { // else a comment
			names = append(append(names, make([]string, n-len(names))...), name)
		}
	}
	return names
}

// SyscallName returns a system call's name; "syscall_N" if unknown; "" for a negative number, outside of a call
// (include/asm-generic/syscall.h, syscall_get_nr).
func SyscallName(arch frames.Arch, nr int64) string {
	if nr < 0 {
		return ""
	}
	names := namesX86
	if arch == frames.ARM64 {
		names = namesARM64
	}
	if all := names(); nr < int64(len(all)) && all[nr] != "" {
		return all[nr]
	}
	return "syscall_" + strconv.FormatInt(nr, 10)
}

// HostSyscallName returns a system call's name on this machine.
func HostSyscallName(nr int64) string { return SyscallName(HostArch(), nr) }

// HostArch returns this machine's architecture.
func HostArch() frames.Arch {
	if runtime.GOARCH == "arm64" {
		return frames.ARM64
	}
	return frames.X86_64
}

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
