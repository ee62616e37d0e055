// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/console"
	"prywalk/internal/profile"
	"prywalk/ptrace"
)

// listening counts the recordings that obey signals themselves.
var listening atomic.Int32

// ObeyQuit ends prywalk at a SIGQUIT, without the stacks of its goroutines that the Go runtime would print, where no
// recording obeys it. If it was ignored when prywalk was started, it stays so.
func ObeyQuit() {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, unix.SIGQUIT)
	go func() {
		for range ch {
			if listening.Load() == 0 && !ptrace.IgnoredAtStart(unix.SIGQUIT) {
				os.Exit(128 + int(unix.SIGQUIT))
			}
		}
	}()
}

// oneWish is the time within which the signals that end prywalk are one. A terminal that is closed sends two
// (one by the kernel, one by the shell), and a finger bounces.
const oneWish = time.Second

// signals gives a context that the first Ctrl-C, SIGTERM, SIGQUIT or SIGHUP ends; one that comes more than a
// second after it ends prywalk at once. SIGUSR1 writes a checkpoint. A command that was launched is
// passed what it has not got itself, and SIGQUIT is the command's alone: a JVM prints its threads.
func (r *recording) signals() (context.Context, func()) {
	listening.Add(1)
	ctx, cancel := context.WithCancel(context.Background())
	r.giveUp = make(chan struct{})
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGUSR1)
	if !signal.Ignored(unix.SIGHUP) { // as nohup wants it
		signal.Notify(ch, unix.SIGHUP)
	}
	go func() {
		var w wish
		for s := range ch {
			sig, _ := s.(syscall.Signal)
			switch {
			case sig == unix.SIGQUIT && ptrace.IgnoredAtStart(sig):
				continue
			case sig == unix.SIGQUIT && r.launches:
				r.forward(sig)
				fallthrough
			case sig == unix.SIGUSR1:
				r.checkpointNow()
				continue
			}
			first, again, leave := w.decide(sig, time.Now())
			if !again {
				r.forward(sig)
			}
			r.wished.Store(true)
			switch {
			case leave:
				if r.leave != nil {
					r.leave()
				}
				console.Fail("aborted: %s", &r.disk)
				os.Exit(128 + int(sig))
			case first && r.writing.Load():
				close(r.giveUp)
			}
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(ch)
		cancel()
		listening.Add(-1)
	}
}

// wish tells the signals that end prywalk apart: which are one, and which one says that it is to leave at once.
type wish struct {
	at   time.Time // of the first
	kind map[syscall.Signal]bool
}

// decide tells what a signal means: the first of all; one that is as good as another a moment ago; one to leave at
// once by.
func (w *wish) decide(sig syscall.Signal, now time.Time) (first, again, leave bool) {
	if first = w.at.IsZero(); first {
		w.at, w.kind = now, map[syscall.Signal]bool{}
	}
	again, w.kind[sig] = w.kind[sig], true
	leave = now.Sub(w.at) >= oneWish
	return first, again && !leave, leave
}

// checkpointNow writes a checkpoint at the next tick, where there are any.
func (r *recording) checkpointNow() {
	if s := r.now.Load(); s != nil && profile.Replaceable(r.path) {
		s.CheckpointNow()
	}
}

// interruptWait is how long a command that an interrupt has reached is given to end.
const interruptWait = 300 * time.Millisecond

// forward passes a signal on to the command. Ctrl-C and Ctrl-\ go to the terminal's whole
// foreground group, so that the command has got it; what another program sends to
// prywalk alone it has not. An interrupt without a terminal can be either: the command
// gets it if it still runs a moment later.
func (r *recording) forward(sig syscall.Signal) {
	pass := func() {
		r.pendingSignal.Store(int32(sig))
		r.passOn()
	}
	switch {
	case sig != unix.SIGINT && sig != unix.SIGQUIT:
		pass()
	case inForeground():
	case sig == unix.SIGQUIT, r.running.Load() == nil: // the command does not run yet
		pass()
	default:
		time.AfterFunc(interruptWait, pass)
	}
}

// passOn sends the command the signal that came last, unless that was done. One that
// comes before the command runs waits for it.
func (r *recording) passOn() {
	l := r.running.Load()
	if l == nil {
		return
	}
	if sig := r.pendingSignal.Swap(0); sig != 0 {
		_ = l.Signal(syscall.Signal(sig)) // it may have ended
	}
}

// inForeground reports whether prywalk is in the foreground group of its terminal.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
