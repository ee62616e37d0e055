// SPDX-License-Identifier: Apache-2.0

// Package osthread runs functions on OS threads of their own.
package osthread

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Run runs f on an OS thread that ends with f: the kernel then detaches what f has left attached (ptrace(2)). A panic
// in f ends the process.
func Run(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked, unless the first thread, which Go does not end
		if unix.Gettid() == os.Getpid() {
			Run(f)
			runtime.UnlockOSThread()
			close(done)
			return
		}
		defer close(done)
		f()
	}()
	<-done
}
