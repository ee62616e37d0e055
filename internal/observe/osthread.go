// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs f on an OS thread that ends with f, so that the kernel detaches what f left attached. A panic in f ends
// the process.
func OnThread(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked, unless the first thread, which Go does not end
		if unix.Gettid() == os.Getpid() {
			OnThread(f)
			runtime.UnlockOSThread()
			close(done)
			return
		}
		defer close(done)
		f()
	}()
	<-done
}
