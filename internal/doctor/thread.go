// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs f on an OS thread that ends afterwards, with all that f did to it. The main thread of a Go program
// never ends, so this goroutine holds it while another runs f.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- onThread(f)
			return
		}
		done <- f() // still locked: the thread ends with the goroutine
	}()
	return <-done
}

// seize seizes the first thread of a process and releases it: PTRACE_SEIZE stops nothing, and the kernel detaches when
// the tracing thread ends (ptrace(2)).
func seize(pid int) error {
	return onThread(func() error { return unix.PtraceSeize(pid) })
}
