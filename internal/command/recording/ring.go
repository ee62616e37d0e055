// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/command/condition"
	"prywalk/internal/command/console"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// ring keeps the last time only, and writes it when a condition begins to hold. Checkpoints write nothing else.
type ring struct {
	recording *recording
	watch     condition.Watch
	names     *profile.Names
	begun     time.Time
	named     time.Time  // the time in the last file's name
	suspects  chan []int // processes with a possible deadlock

	mu  sync.Mutex
	due []reason
}

// reason is why the ring is written.
type reason struct {
	what, detail string
	at           int64 // in nanoseconds of Unix time
}

const (
	ringWatchEvery = time.Second
	ringCutEvery   = time.Minute // a checkpoint adds all open intervals to the bounded memory of the ring
)

func newRing(r *recording) *ring {
	w := &ring{recording: r, begun: time.Now(), suspects: make(chan []int, 1)}
	w.watch = condition.Watch{Conditions: r.options.On, Pause: r.options.Ring, Functions: w.functions,
		Holds: func(c *condition.Condition, what string, at int64) { w.ask(c.String()+" began to hold", what, at) },
		Suspect: func(pids []int, _ int64) {
			select {
			case w.suspects <- pids:
			default:
			}
		}}
	return w
}

// prepare adds the sink, whose refreshes also evict stacks.
func (w *ring) prepare() {
	w.names = profile.NewNames(w.recording.builder, nil)
	w.recording.samplerOpts.CheckpointEvery, w.recording.samplerOpts.WatchEvery = ringCutEvery, ringWatchEvery
	w.recording.samplerOpts.Sinks = append(w.recording.samplerOpts.Sinks, &w.watch)
}

// begin names functions and examines suspected deadlocks in the background, until end, which fails if a read hangs. The
// context ends then, too.
func (w *ring) begin(ctx context.Context) (_ context.Context, end func() error) {
	if w.isDue() { // since before there was a sampler
		w.recording.signals.checkpointNow()
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	var hung error
	running.Go(func() { runNames(w.names, ctx.Done()) })
	running.Go(func() {
		if hung = w.examineSuspects(ctx); hung != nil {
			stop()
		}
	})
	return ctx, func() error {
		stop()
		if waiting := selfhang.Watched(running.Wait); waiting != nil {
			return waiting
		}
		return hung
	}
}

// examineSuspects reports a deadlock once, although its process is examined again as others come to wait.
func (w *ring) examineSuspects(ctx context.Context) error {
	var known []string
	for {
		select {
		case <-ctx.Done():
			return nil
		case pids := <-w.suspects:
			at, images := time.Now().UnixNano(), loadedcode.NewImageCache(0)
			found, err := w.recording.deadlocksOf(images, pids)
			if err != nil {
				return err
			}
			_ = images.Close()
			isKnown := func(sentence string) bool { return slices.Contains(known, sentence) }
			fresh := slices.DeleteFunc(slices.Clone(found), isKnown)
			if known = found; len(fresh) > 0 {
				w.ask("deadlock began to hold", strings.Join(fresh, "; "), at)
			}
		}
	}
}

// functions is called on the aggregator's goroutine.
func (w *ring) functions(id sample.StackID) (functions []waits.Frame, final bool) {
	w.names.NameSomeGenerated(w.recording.names)
	final = true
	for _, l := range w.names.Stack(id, nil, nil) {
		final = final && l.Final
		f := waits.Frame{}
		if l.Module != nil {
			f.Module = l.Module.Path
		}
		for i := range l.Frames {
			f.Function, f.File = l.Frames[i].Name, l.Frames[i].File
			functions = append(functions, f)
		}
		if len(l.Frames) == 0 { // idle rules know some modules
			functions = append(functions, f)
		}
	}
	return functions, final
}

func (w *ring) ask(what, detail string, at int64) {
	w.mu.Lock()
	w.due = append(w.due, reason{what, detail, at})
	w.mu.Unlock()
	w.recording.signals.checkpointNow()
}

func (w *ring) isDue() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.due) > 0
}

// from returns the begin of a write.
func (w *ring) from(end time.Time) time.Time {
	if from := end.Add(-w.recording.options.Ring); from.After(w.begun) {
		return from
	}
	return w.begun
}

// next returns what is due, and the path and comments of a file: what was the case, and when. A path is later than the
// one before: a name that was removed is not used again.
func (w *ring) next(end time.Time, more ...reason) (due []reason, path string, comments []string) {
	w.mu.Lock()
	due, w.due = w.due, nil
	w.mu.Unlock()
	for _, d := range slices.Concat(due, more) {
		at := time.Unix(0, d.at)
		line := fmt.Sprintf("written because %s at %s, %.1f s after the begin", d.what, at.Format(time.DateTime),
			max(0, at.Sub(w.from(end)).Seconds()))
		if d.detail != "" {
			line += ": " + d.detail
		}
		comments = append(comments, line)
	}
	if w.named = w.named.Add(time.Second); w.named.Before(end) {
		w.named = end
	}
	return due, w.recording.output.rotation.path(w.named), comments
}

// writeKept writes what is kept. It stays, as another condition can begin to hold at once.
func (w *ring) writeKept() {
	end := time.Now()
	due, path, comments := w.next(end)
	w.recording.builder.SetWindow(w.from(end), end)
	w.recording.setComments(comments...)
	if err := w.recording.builder.WriteFile(path, w.recording.fileNames); err != nil {
		console.Errorf("%v; it is tried again within about a minute, and at the end", err)
		w.mu.Lock()
		w.due = append(due, w.due...)
		w.mu.Unlock()
		return
	}
	w.recording.reportLost()
	w.recording.output.rotation.written++
	w.recording.output.rotation.prune()
	for _, line := range comments {
		console.Infof("%s → %s", line, path)
	}
}

// beginLast names the last file, and returns its comments.
func (w *ring) beginLast() (comments []string) {
	end := time.Now()
	_, w.recording.output.path, comments = w.next(end, reason{what: "the recording ended", at: end.UnixNano()})
	w.recording.output.state.setPath(w.recording.output.path)
	return comments
}
