package look

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs f on an OS thread of its own, which ends with it. So the kernel lets go of whatever f could not let
// go of, and a raised priority is nobody else's. The process's first thread never ends while the process lives (the
// Go runtime parks it): it is not used. OnThread returns when f has; a panic of f is the process's.
func OnThread(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked, unless it is the first thread
		if unix.Gettid() == os.Getpid() {
			OnThread(f) // on another: this one is taken meanwhile
			runtime.UnlockOSThread()
			close(done)
			return
		}
		defer close(done)
		f()
	}()
	<-done
}
