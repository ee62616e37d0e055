// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"prywalk/internal/console"
	"prywalk/ptrace"
)

// launched is the command that record has started, nil if there is none.
var launched atomic.Pointer[ptrace.Launched]

// ObeyStops makes Ctrl-Z and its kin stop prywalk when it has let go of everyone (ptrace.StopAs). A
// signal that is ignored stays so.
func ObeyStops() {
	ch := make(chan os.Signal, 8)
	for _, sig := range ptrace.StopSignals {
		if !ptrace.Ignored(sig) {
			signal.Notify(ch, sig)
		}
	}
	go func() {
		for s := range ch {
			stopAs(s.(syscall.Signal), ch)
		}
	}()
}

// stopAs stops prywalk, and a command that is not told by the terminal. A terminal stops its whole
// foreground group, so that the command has got the signal.
func stopAs(sig syscall.Signal, ch <-chan os.Signal) {
	l := launched.Load()
	pass := l != nil && !inForeground()
	if pass {
		_ = l.Signal(sig) // it may have ended
	}
	aside(func() {
		if !ptrace.StopAs(sig, func() { forget(sig, ch) }) {
			console.Fail("not suspended: a thread could not be detached in time; try again, or end the recording with Ctrl-C")
		}
	})
	if pass {
		_ = l.Signal(unix.SIGCONT)
	}
}

// forget drops the stop signals that came until now: they are one with the one that is obeyed. Stopping a channel
// waits until what has come was handed out.
func forget(sig syscall.Signal, ch <-chan os.Signal) {
	all := make(chan os.Signal, 1)
	signal.Notify(all, sig)
	signal.Stop(all)
	for {
		select {
		case <-ch:
		default:
			return
		}
	}
}
