// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/command/console"
	"prywalk/internal/host/process"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/show/top"
	"prywalk/internal/store/profile"
)

var _ profile.StackHolder = (*topRun)(nil) // else nothing is evicted

type topRun struct {
	recording *recording
	display   TopOptions
	store     *top.Store
	functions *top.FunctionTable
	liveNames *profile.Names

	target    string
	refreshed chan struct{} // holds one
	done      chan struct{} // closed at the sampling's end
	ended     atomic.Bool
	failure   error
	begun     time.Time
}

// RunTop shows live tables.
func RunTop(o Options, display TopOptions) error {
	t := newTopRun(o, display)
	return t.recording.run(t.sampleAndShow)
}

func newTopRun(o Options, display TopOptions) *topRun {
	t := &topRun{recording: newRecording(o), display: display, refreshed: make(chan struct{}, 1),
		done: make(chan struct{})}
	t.recording.live, t.recording.unexamined = true, !display.Once
	t.recording.samplerOpts.Sinks = append(t.recording.samplerOpts.Sinks, t)
	return t
}

func (t *topRun) sampleAndShow(ctx context.Context, procs []*loadedcode.Process) error {
	sampling, end := context.WithCancel(ctx)
	defer end()
	t.begun = time.Now()
	t.store = top.NewStore(t.begun, t.notify)
	t.setTarget(procs)
	t.liveNames = profile.NewNames(t.recording.builder, t.notify)
	t.functions = top.NewFunctionTable(t.liveNames)
	var naming sync.WaitGroup
	quit := make(chan struct{})
	naming.Go(func() { runNames(t.liveNames, quit) })
	go func() {
		defer close(t.done)
		t.failure = t.recording.sample(sampling)
		t.ended.Store(true)
		t.notify()
	}()
	shown := t.show(ctx, end)
	end()
	<-t.done
	close(quit)
	t.awaitBackground(naming.Wait)
	return t.finish(shown)
}

// awaitBackground does not wait for a read that hangs.
func (t *topRun) awaitBackground(wait func()) {
	if hung := selfhang.Watched(wait); hung != nil {
		t.recording.hung, t.failure = true, cmp.Or(t.failure, hung)
	}
}

func (t *topRun) setTarget(procs []*loadedcode.Process) {
	if len(procs) == 0 { // all have ended since they were selected
		t.target = "no process"
		return
	}
	t.target = fmt.Sprintf("%s (pid %d)", procs[0].Comm, procs[0].PID)
	if n := len(procs); n > 1 {
		t.target = fmt.Sprintf("%s and %s", t.target, runstats.Plural(int64(n-1), "other"))
	}
}

func (t *topRun) notify() {
	select {
	case t.refreshed <- struct{}{}:
	default:
	}
}

// Add implements profile.Sink.
func (t *topRun) Add(iv profile.Interval) { t.store.Add(iv) }

// Refresh implements profile.Watcher.
func (t *topRun) Refresh(at int64, open iter.Seq[profile.Interval]) {
	t.liveNames.NameSomeGenerated(t.recording.names)
	t.store.Refresh(at, open)
}

// HeldStacks implements [profile.StackHolder].
func (t *topRun) HeldStacks() (iter.Seq[sample.StackID], bool) { return t.store.HeldStacks() }

func (t *topRun) show(ctx context.Context, end func()) error {
	if t.onTerminal() {
		return t.showOnTerminal(ctx)
	}
	return t.showAsText(ctx, end)
}

func (t *topRun) finish(shown error) error {
	if t.recording.hung {
		return t.recording.writeHung(t.failure)
	}
	if !t.onTerminal() && !t.display.Once && shown == nil {
		shown = t.printLast()
	}
	if errors.Is(shown, unix.EPIPE) { // the reader has exited
		shown = nil
	}
	var written error
	if t.recording.output.path != "" {
		written = t.recording.writeWatched()
	}
	if err := errs.Join(t.failure, shown, written); err != nil {
		return err
	}
	switch {
	case t.recording.output.path != "":
		return t.recording.reportResult()
	case t.recording.stats.Samples > 0:
		return nil
	}
	return cmp.Or(t.recording.refusalError(), runstats.NoSamples(&t.recording.stats, t.recording.options.Threads))
}

func (t *topRun) printLast() error {
	t.finishStore()
	t.Snapshot(0)
	t.liveNames.ResolveNow(t.recording.names)
	return t.print(t.Snapshot(0), t.State())
}

func (t *topRun) finishStore() {
	t.store.Finish(t.recording.stats.Begun.Add(time.Duration((t.recording.stats.Seconds +
		t.recording.stats.Suspended) * 1e9)))
}

// State implements top.Source.
func (t *topRun) State() top.State {
	g := t.recording.sampler.Progress()
	st := top.State{
		Target: t.target, Threads: g.Tracer.Threads, Complete: -1, Ended: t.ended.Load(),
	}
	if g.Stacks > 0 {
		st.Complete = float64(g.Complete) / float64(g.Stacks)
	}
	if err := process.ExplainFailures(t.recording.pids,
		process.StopResults{Denied: g.Tracer.Denied, Traced: g.Tracer.Traced,
			Succeeded: g.Tracer.Stops}); err != nil {
		st.Trouble = "some threads cannot be sampled: " + err.Error()
		if g.Tracer.Stops == 0 {
			st.Trouble = "running threads cannot be sampled: " + err.Error()
		}
	}
	return st
}

// Snapshot implements top.Source.
func (t *topRun) Snapshot(window time.Duration) *top.Snapshot {
	return t.store.Snapshot(t.functions, window)
}

// Suspend implements top.Source.
func (t *topRun) Suspend() { _ = unix.Kill(os.Getpid(), unix.SIGTSTP) } // see HandleJobControl

func (t *topRun) onTerminal() bool {
	term := os.Getenv("TERM")
	return !t.display.Once && !t.display.JSON && console.IsTerminal(os.Stdout) && term != "dumb" && term != ""
}
