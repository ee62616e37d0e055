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

	"prywalk/internal/command/console"
	"prywalk/internal/host/launch"
	"prywalk/internal/watch/sampler"
)

var activeHandlers atomic.Int32

// HandleQuit lets SIGQUIT end prywalk without a dump of goroutines, while no recording handles it, unless it was
// ignored at the start.
func HandleQuit() {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, unix.SIGQUIT)
	go func() {
		for range ch {
			if activeHandlers.Load() == 0 && !launch.IgnoredAtStart(unix.SIGQUIT) {
				detachUnlessSignaled(ch)
				os.Exit(128 + int(unix.SIGQUIT))
			}
		}
	}()
}

const (
	// sameRequestTime is long enough for the two signals of a closed terminal (kernel and shell).
	sameRequestTime = time.Second
	// sameInterruptTime is longer than between the copies of one Ctrl-C, from the terminal and from a parent that passes
	// it on, and shorter than between two key strokes.
	sameInterruptTime = 100 * time.Millisecond
)

// signalHandler runs a goroutine from handle until stop.
type signalHandler struct {
	launches bool   // set before handle
	onUser1  func() // called at SIGUSR1 before the checkpoint, if set before handle
	command  atomic.Pointer[launch.Launched]
	pending  atomic.Int32                    // for the command; 0 means none
	sampler  atomic.Pointer[sampler.Sampler] // nil means that there are no checkpoints

	endRequested atomic.Bool
	samplingOver atomic.Bool
	skipNames    chan struct{} // closed by the first ending signal, if samplingOver by then
}

// handle returns a context that the first ending signal ends.
//
//	SIGINT, SIGTERM, SIGHUP   end the recording, and are sent to a launched command that did not get them; a second
//	                          Ctrl-C ([sameInterruptTime]), and any later than [sameRequestTime], exits at once
//	SIGQUIT                   the same, but with a launched command only sent to that (a JVM prints its threads), and
//	                          a checkpoint
//	SIGUSR1                   a checkpoint, or onUser1
func (h *signalHandler) handle(output *outputState) (_ context.Context, stop func()) {
	activeHandlers.Add(1)
	ctx, cancel := context.WithCancel(context.Background())
	h.skipNames = make(chan struct{})
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGUSR1)
	if !signal.Ignored(unix.SIGHUP) { // nohup
		signal.Notify(ch, unix.SIGHUP)
	}
	go func() {
		var w endRequests
		for s := range ch {
			sig, _ := s.(syscall.Signal)
			if sig == unix.SIGQUIT && launch.IgnoredAtStart(sig) {
				continue
			}
			passedOn := sig == unix.SIGQUIT && h.launches
			if passedOn {
				h.forward(sig)
			}
			if sig == unix.SIGUSR1 && h.onUser1 != nil {
				h.onUser1()
				continue
			}
			if passedOn || sig == unix.SIGUSR1 {
				h.checkpointNow()
				continue
			}
			isFirst, isRepeat, leavesNow := w.classify(sig, time.Now())
			if !isRepeat {
				h.forward(sig)
			}
			h.endRequested.Store(true)
			switch {
			case leavesNow:
				abort(output, 128+int(sig))
			case isFirst && h.samplingOver.Load():
				close(h.skipNames)
			}
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(ch)
		cancel()
		activeHandlers.Add(-1)
	}
}

const abortMessageTimeout = time.Second

func abort(output *outputState, code int) {
	time.AfterFunc(abortMessageTimeout, func() { os.Exit(code) })
	closeScreen()
	console.Errorf("aborted: %s", output)
	os.Exit(code)
}

type endRequests struct {
	first    time.Time
	received map[syscall.Signal]time.Time // first of each
}

// classify returns leavesNow for a second request: prywalk exits at once; isRepeat for a copy of the first request.
func (r *endRequests) classify(sig syscall.Signal, now time.Time) (isFirst, isRepeat, leavesNow bool) {
	if isFirst = r.first.IsZero(); isFirst {
		r.first, r.received = now, map[syscall.Signal]time.Time{}
	}
	before, isRepeat := r.received[sig]
	if !isRepeat {
		r.received[sig] = now
	}
	leavesNow = now.Sub(r.first) >= sameRequestTime ||
		sig == unix.SIGINT && isRepeat && now.Sub(before) >= sameInterruptTime
	return isFirst, isRepeat && !leavesNow, leavesNow
}

func (h *signalHandler) checkpointNow() {
	if s := h.sampler.Load(); s != nil {
		s.CheckpointNow()
	}
}

// interruptGrace is a command's time to end after an interrupt.
const interruptGrace = 300 * time.Millisecond

// forward passes a signal that the command did not get. A terminal sends Ctrl-C and Ctrl-\ to the foreground group,
// which includes the command; other senders signal prywalk only. Outside of the foreground an interrupt is passed if
// the command still runs after [interruptGrace].
func (h *signalHandler) forward(sig syscall.Signal) {
	pass := func() {
		h.pending.Store(int32(sig))
		h.sendPending()
	}
	switch {
	case sig != unix.SIGINT && sig != unix.SIGQUIT:
		pass()
	case inForeground():
	case sig == unix.SIGQUIT:
		pass()
	default:
		time.AfterFunc(interruptGrace, pass)
	}
}

func (h *signalHandler) sendPending() {
	l := h.command.Load()
	if l == nil {
		return
	}
	if sig := h.pending.Swap(0); sig != 0 {
		_ = l.Signal(syscall.Signal(sig))
	}
}

func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
