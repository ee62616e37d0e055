// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/refusal"
)

// Below these limits the Go runtime crashes without an error.
const (
	minFiles        = 64      // one process with a few threads takes about 40
	minRuntimeFiles = 16      // without a process to sample
	minThreads      = 16      // prywalk has 8 to 12
	minSpace        = 2 << 30 // bytes; the Go runtime reserves about 1.2 GB
)

// CheckRuntime reports a lack of threads, descriptors or address space that would crash the Go runtime. Precondition:
// no goroutine was started.
func CheckRuntime() error {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &r) == nil && r.Cur < minSpace {
		return fmt.Errorf("the limit of address space is %d KB, and prywalk needs %d; raise it: ulimit -v %d",
			r.Cur>>10, minSpace>>10, minSpace>>10)
	}
	if unix.Getrlimit(unix.RLIMIT_NPROC, &r) == nil && r.Cur < minThreads && limitedThreads() {
		return fmt.Errorf("the limit of processes and threads is %d, and prywalk needs %d; raise it: ulimit -u 1024",
			r.Cur, minThreads)
	}
	return checkFiles(minRuntimeFiles)
}

// limitedThreads reports whether RLIMIT_NPROC applies (kernel/fork.c, copy_process).
func limitedThreads() bool {
	if unix.Getuid() == 0 {
		return false
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&head, &data[0]) != nil {
		return true
	}
	return data[0].Effective&(1<<unix.CAP_SYS_RESOURCE|1<<unix.CAP_SYS_ADMIN) == 0
}

// CheckFiles reports too low a limit of open files to sample a process.
func CheckFiles() error { return checkFiles(minFiles) }

func checkFiles(least uint64) error {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil || r.Cur >= least {
		return nil
	}
	return fmt.Errorf("the limit of open files is %d, and prywalk needs %d; raise it: ulimit -n 1024", r.Cur, minFiles)
}

func noFiles(pid int, err error) *Error {
	return &Error{PID: pid, Kind: refusal.NoFiles, Cause: "too many open files in prywalk",
		Next: "raise its limit: ulimit -n 4096", Err: err}
}
