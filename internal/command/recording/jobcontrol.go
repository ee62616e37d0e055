// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"prywalk/internal/command/console"
	"prywalk/internal/host/launch"
	"prywalk/ptrace"
)

var launched atomic.Pointer[launch.Launched]

// HandleJobControl makes SIGTSTP, SIGTTIN and SIGTTOU stop prywalk after it has detached from all threads
// (ptrace.Suspend). Ignored signals stay ignored.
func HandleJobControl() {
	ch := make(chan os.Signal, 8)
	for _, sig := range ptrace.StopSignals {
		if !launch.Ignored(sig) {
			signal.Notify(ch, sig)
		}
	}
	go func() {
		for s := range ch {
			stopAs(s.(syscall.Signal), ch)
		}
	}()
}

// stopAs also stops the command, unless the terminal stops its foreground group.
func stopAs(sig syscall.Signal, ch <-chan os.Signal) {
	l := launched.Load()
	pass := l != nil && !inForeground()
	if pass {
		_ = l.Signal(sig)
	}
	releaseTerminal(func() {
		if !ptrace.Suspend(sig, func() { dropPending(sig, ch) }) {
			console.Errorf("not suspended: a thread could not be detached in time; try again, or end the recording with Ctrl-C")
		}
	})
	if pass {
		_ = l.Signal(unix.SIGCONT)
	}
}

// dropPending drops stop signals sent together with the handled one. After signal.Stop returns, they are delivered.
func dropPending(sig syscall.Signal, ch <-chan os.Signal) {
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

// EndAfterDetach lets SIGINT, SIGTERM and SIGHUP end prywalk only after it has detached from all threads, so that no
// system call fails; a second signal ends it at once. Ignored signals stay ignored. stop restores the default.
func EndAfterDetach() (stop func()) {
	ch := make(chan os.Signal, 2)
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(ch, sig)
		}
	}
	go func() {
		s, ok := <-ch
		if !ok {
			return
		}
		detachUnlessSignaled(ch)
		signal.Reset(s)
		_ = unix.Kill(os.Getpid(), s.(syscall.Signal))
	}()
	return func() {
		signal.Stop(ch)
		close(ch)
	}
}

// detachUnlessSignaled detaches from all threads before this process ends; another signal ends the wait.
func detachUnlessSignaled(ch <-chan os.Signal) { ptrace.DetachAll(func() bool { return len(ch) == 0 }) }
