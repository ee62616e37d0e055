// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// OnOSThread runs f on an OS thread that ends with f: the kernel then detaches what f has left attached (ptrace(2)). A
// panic in f ends the process.
func OnOSThread(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked, unless the first thread, which Go does not end
		if unix.Gettid() == os.Getpid() {
			OnOSThread(f)
			runtime.UnlockOSThread()
			close(done)
			return
		}
		defer close(done)
		f()
	}()
	<-done
}
