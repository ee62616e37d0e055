// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/console"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe/hang"
	"prywalk/internal/process"
	"prywalk/internal/profile"
	"prywalk/internal/runsummary"
	"prywalk/internal/top"
)

type topRun struct {
	*recording
	display      TopOptions
	store        *top.Store
	functions    *top.Functions
	liveNames    *profile.Names
	lastSnapshot *top.Snapshot // as plain text

	target          string
	refreshed       chan struct{} // something new to show; holds one
	done            chan struct{} // closed at the sampling's end
	ended           atomic.Bool
	failure         error
	trouble         string
	refused         int64 // refused observations when trouble was set
	begun           time.Time
	goroutineCounts atomic.Pointer[[]top.Goroutines]
	heldUpNow       atomic.Pointer[string]
}

// RunTop shows live tables.
func RunTop(o Options, display TopOptions) error {
	if err := console.CheckStdout(); err != nil {
		return err
	}
	l := newTopRun(o, display)
	return l.run(l.sampleAndShow)
}

func newTopRun(o Options, display TopOptions) *topRun {
	l := &topRun{recording: newRecording(o), display: display, refreshed: make(chan struct{}, 1),
		done: make(chan struct{})}
	l.endless = true
	l.heldUp = l.noteHeldUp
	l.samplerOpts.Sinks = append(l.samplerOpts.Sinks, l)
	return l
}

func (l *topRun) sampleAndShow(ctx context.Context, procs []*loadedcode.Process) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var goPIDs []int
	if hung := hang.Watched(func() { goPIDs = l.countNow(procs) }); hung != nil {
		l.hung = true
		return hung
	}
	l.begun = time.Now()
	l.store = top.NewStore(l.begun, l.notify)
	l.setTarget(procs)
	l.liveNames = profile.NewNames(l.builder, l.notify)
	l.functions = top.NewFunctions(l.liveNames)
	stopNames := l.nameInBackground()
	stopCounts := l.countInBackground(goPIDs)
	go func() {
		defer close(l.done)
		l.failure = l.sample(ctx)
		l.ended.Store(true)
		l.notify()
	}()
	shown := l.show(ctx, cancel)
	cancel()
	<-l.done
	stopNames()
	stopCounts()
	return l.finish(shown)
}

func (l *topRun) setTarget(procs []*loadedcode.Process) {
	if len(procs) == 0 { // all have ended since they were selected
		l.target = "no process"
		return
	}
	l.target = fmt.Sprintf("%s (pid %d)", procs[0].Comm, procs[0].PID)
	if n := len(procs); n > 1 {
		l.target = fmt.Sprintf("%s and %s", l.target, runsummary.Plural(int64(n-1), "other"))
	}
}

// noteHeldUp makes one line of what holds up the targets now.
func (l *topRun) noteHeldUp(all []holdUp) {
	var texts []string
	for _, h := range all {
		texts = append(texts, h.text)
	}
	line := strings.Join(texts, "; ")
	l.heldUpNow.Store(&line)
}

func (l *topRun) notify() {
	select {
	case l.refreshed <- struct{}{}:
	default:
	}
}

// Add implements profile.Sink.
func (l *topRun) Add(iv profile.Interval) { l.store.Add(iv) }

// Refresh implements profile.Watcher.
func (l *topRun) Refresh(at int64, open iter.Seq[profile.Interval]) {
	l.liveNames.NameSomeGenerated(l.names)
	l.store.Refresh(at, open)
}

func (l *topRun) show(ctx context.Context, cancel func()) error {
	if l.onTerminal() {
		return l.showOnTerminal(ctx)
	}
	return l.showAsText(ctx, cancel)
}

// finish prints the last table of plain text, and writes the recording.
func (l *topRun) finish(shown error) error {
	if l.hung {
		return l.writeHung(l.failure)
	}
	if !l.onTerminal() && !l.display.Once && shown == nil {
		shown = l.printLast()
	}
	if errors.Is(shown, unix.EPIPE) { // the reader has exited
		shown = nil
	}
	if l.output.path != "" {
		if err := l.writeWatched(); err != nil {
			return errors.Join(l.failure, shown, err)
		}
	}
	if err := errors.Join(l.failure, shown); err != nil {
		return err
	}
	if l.output.path == "" {
		if refused := l.refusalError(); refused != nil && l.stats.Samples == 0 {
			return refused
		}
		if l.stats.Samples == 0 {
			return runsummary.NoSamples(&l.stats, l.options.Threads)
		}
		return nil
	}
	return l.reportResult()
}

// printLast prints all that was sampled, as report does.
func (l *topRun) printLast() error {
	l.store.Finish(l.stats.Begun.Add(time.Duration((l.stats.Seconds + l.stats.Suspended) * 1e9)))
	l.snapshot(0)
	l.liveNames.ResolveNow(l.names)
	return l.print(l.snapshot(0))
}

// snapshot reuses the memory of the last one.
func (l *topRun) snapshot(window time.Duration) *top.Snapshot {
	l.lastSnapshot = l.store.Snapshot(l.functions, window, l.display.Clock, l.lastSnapshot)
	return l.lastSnapshot
}

func (l *topRun) state() top.State {
	g := l.sampler.Progress()
	st := top.State{
		Target: l.target, Threads: g.Threads, Complete: -1, Ended: l.ended.Load(),
	}
	if g.Stacks > 0 {
		st.Complete = float64(g.Complete) / float64(g.Stacks)
	}
	if refused := g.Denied + g.Traced; refused > l.refused { // ExplainFailures reads files
		l.refused = refused
		l.trouble = ""
		if err := process.ExplainFailures(l.pids, process.StopResults{Denied: g.Denied, Traced: g.Traced,
			Succeeded: g.Stops}); err != nil {
			l.trouble = "some threads cannot be sampled: " + err.Error()
			if g.Stops == 0 {
				l.trouble = "running threads cannot be sampled: " + err.Error()
			}
		}
	}
	st.Trouble = l.trouble
	if line := l.heldUpNow.Load(); line != nil && !st.Ended {
		st.HeldUp = *line
	}
	if list := l.goroutineCounts.Load(); list != nil {
		st.Goroutines = *list
	}
	return st
}
