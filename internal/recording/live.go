// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/account"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/process"
	"prywalk/internal/profile"
	"prywalk/internal/top"
)

// live is one run of top: a recording that is watched.
type live struct {
	*recording
	shows LiveOptions
	store *top.Store
	table *top.Names
	shown *top.Snapshot // as plain text

	target    string
	refreshed chan struct{} // there is something new to show; holds one
	done      chan struct{} // closed when the sampling is over
	ended     atomic.Bool
	failure   error
	trouble   string
	refused   int64 // refused looks when trouble was found out
	begun     time.Time
	waiting   atomic.Pointer[[]top.Goroutines] // as counted last
}

// Live shows what threads do while they are recorded.
func Live(o Options, shows LiveOptions) error { return newLive(o, shows).run() }

func newLive(o Options, shows LiveOptions) *live {
	l := &live{recording: newRecording(o), shows: shows, refreshed: make(chan struct{}, 1), done: make(chan struct{})}
	l.live = true
	return l
}

// run samples, shows, and writes the recording if there is to be one.
func (l *live) run() error {
	if l.asked.Output != "" {
		if err := l.setOutput(l.pids[0]); err != nil {
			return err
		}
	}
	ctx, stop := l.signals()
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var procs []*code.Process
	var err error
	var goPIDs []int
	hung := look.Watched(func() {
		if procs, err = l.open(l.pids); err == nil {
			goPIDs = l.count(procs)
		}
	})
	if hung != nil {
		return hung
	}
	if err != nil {
		return err
	}
	l.begun = time.Now()
	l.store = top.NewStore(l.begun, l.tell)
	l.opts.Watch = l
	l.describe(procs)
	l.prepare(procs)
	defer l.close()
	l.table = top.NewNames(l.builder, l.tell)
	stopNames := l.nameOnTheWay()
	stopCounts := l.countOnTheWay(goPIDs)
	go func() {
		defer close(l.done)
		l.failure = l.sample(ctx)
		l.ended.Store(true)
		l.tell()
	}()
	shown := l.show(ctx, cancel)
	cancel()
	<-l.done
	stopNames()
	stopCounts()
	return l.finish(shown)
}

// describe names what is looked at.
func (l *live) describe(procs []*code.Process) {
	l.target = fmt.Sprintf("%s (pid %d)", procs[0].Comm, procs[0].PID)
	if n := len(procs); n > 1 {
		l.target = fmt.Sprintf("%s and %s", l.target, account.Plural(int64(n-1), "other"))
	}
}

// tell says that there is something new to show.
func (l *live) tell() {
	select {
	case l.refreshed <- struct{}{}:
	default:
	}
}

// Add implements profile.Sink.
func (l *live) Add(iv profile.Interval) { l.store.Add(iv) }

// Refresh implements profile.Watcher.
func (l *live) Refresh(at int64, open iter.Seq[profile.Interval]) {
	l.table.NameGenerated(l.names)
	l.store.Refresh(at, open)
}

// show shows the table until the user, or the target, ends that.
func (l *live) show(ctx context.Context, cancel func()) error {
	if l.onTerminal() {
		return l.onScreen(ctx)
	}
	return l.asText(ctx, cancel)
}

// finish makes the books whole, prints the last table where that is wanted, and writes the recording.
func (l *live) finish(shown error) error {
	if l.hung {
		return l.writeHung(l.failure)
	}
	if !l.onTerminal() && !l.shows.Once && shown == nil {
		if shown = l.last(); errors.Is(shown, unix.EPIPE) { // head has seen enough
			shown = nil
		}
	}
	if l.path != "" {
		if err := l.writeWatched(); err != nil {
			return errors.Join(l.failure, shown, err)
		}
	}
	if err := errors.Join(l.failure, shown); err != nil {
		return err
	}
	if l.path == "" {
		if refused := l.refusal(); refused != nil && l.stats.Samples == 0 {
			return refused
		}
		if l.stats.Samples == 0 {
			return account.NoSamples(&l.stats, l.asked.Threads)
		}
		return nil
	}
	return l.verdict()
}

// last is the last table of plain text: of all that was sampled, as report would show it.
func (l *live) last() error {
	l.store.Finish(l.stats.Begun.Add(time.Duration((l.stats.Seconds + l.stats.Suspended) * 1e9)))
	l.snapshot(0)
	l.table.Now(l.names)
	return l.print(l.snapshot(0))
}

// snapshot gives a window as it is now. The one before is gone.
func (l *live) snapshot(window time.Duration) *top.Snapshot {
	l.shown = l.store.Snapshot(l.table, window, l.shows.Clock, l.shown)
	return l.shown
}

// state tells how the sampling goes.
func (l *live) state() top.State {
	g := l.sampler.Progress()
	st := top.State{
		Target: l.target, Threads: g.Threads, Frozen: g.Frozen, Failed: g.Failed, Complete: -1, Ended: l.ended.Load(),
	}
	if g.Stacks > 0 {
		st.Complete = float64(g.Complete) / float64(g.Stacks)
	}
	if refused := g.Denied + g.Traced; refused > l.refused { // finding out why reads files
		l.refused = refused
		l.trouble = ""
		if err := process.ExplainLooks(l.pids, process.Refused{Denied: g.Denied, Traced: g.Traced,
			Frozen: g.Frozen}); err != nil {
			l.trouble = "some threads cannot be sampled: " + err.Error()
			if g.Frozen == 0 {
				l.trouble = "running threads cannot be sampled: " + err.Error()
			}
		}
	}
	st.Trouble = l.trouble
	if list := l.waiting.Load(); list != nil {
		st.Goroutines = *list
	}
	return st
}
