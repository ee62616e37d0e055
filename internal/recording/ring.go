// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"prywalk/internal/condition"
	"prywalk/internal/console"
	"prywalk/internal/loadedcode"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

// ring keeps the last time only, and writes it when a condition begins to hold. Checkpoints write nothing else.
type ring struct {
	*recording
	watch condition.Watch
	names *profile.Names
	begun time.Time
	named time.Time // the time in the last file's name

	mu       sync.Mutex
	due      []reason
	suspects chan suspects
}

// reason is why the ring is written.
type reason struct {
	what, detail string
	at           int64 // Unix epoch, ns
}

type suspects struct {
	pids []int
	at   int64
}

const (
	ringWatchEvery = time.Second
	// A checkpoint cuts open intervals, and so the waits of which a condition waits for the length.
	minRingCut   = time.Minute
	waitsPerCut  = 10
	deadlockName = "deadlock"
)

func newRing(r *recording) *ring {
	w := &ring{recording: r, begun: time.Now(), suspects: make(chan suspects, 1)}
	w.watch = condition.Watch{Conditions: r.options.On, Pause: r.options.Ring, Functions: w.functions,
		Holds: func(c *condition.Condition, what string, at int64) { w.ask(c.String()+" began to hold", what, at) },
		Suspect: func(pids []int, at int64) {
			select {
			case w.suspects <- suspects{pids, at}:
			default:
			}
		}}
	return w
}

// prepare adds the sink, whose refreshes also evict stacks.
func (w *ring) prepare() {
	w.names = profile.NewNames(w.builder, nil)
	cut := minRingCut
	for i := range w.options.On {
		cut = max(cut, waitsPerCut*w.options.On[i].Time())
	}
	w.samplerOpts.CheckpointEvery, w.samplerOpts.WatchEvery = cut, ringWatchEvery
	w.samplerOpts.Sinks = append(w.samplerOpts.Sinks, &w.watch)
}

// begin names functions and examines suspected deadlocks in the background, until end, which fails if a read hangs. The
// context ends then, too.
func (w *ring) begin(ctx context.Context) (_ context.Context, end func() error) {
	if w.isDue() { // since before there was a sampler
		w.signals.checkpointNow()
	}
	ctx, stop := context.WithCancelCause(ctx)
	done := make(chan error, 2)
	go func() {
		names := newBackgroundResolver()
		defer names.close()
		w.names.Run(names, ctx.Done())
		done <- nil
	}()
	go func() {
		err := w.examineSuspects(ctx)
		stop(err)
		done <- err
	}()
	return ctx, func() error {
		stop(nil)
		first := <-done
		if second := <-done; first == nil {
			return second
		}
		return first
	}
}

func (w *ring) examineSuspects(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-w.suspects:
			images := loadedcode.NewImageCache(0)
			found, err := w.deadlocksOf(images, s.pids)
			if err != nil {
				return err
			}
			_ = images.Close()
			if len(found) > 0 {
				w.ask(deadlockName+" began to hold", strings.Join(found, "; "), s.at)
			}
		}
	}
}

// functions is called on the aggregator's goroutine.
func (w *ring) functions(id sample.StackID) (names []string, final bool) {
	w.names.NameSomeGenerated(w.recording.names)
	final = true
	for _, l := range w.names.Stack(id, nil, nil) {
		final = final && l.Final
		for i := range l.Frames {
			names = append(names, l.Frames[i].Name)
		}
	}
	return names, final
}

func (w *ring) ask(what, detail string, at int64) {
	w.mu.Lock()
	w.due = append(w.due, reason{what, detail, at})
	w.mu.Unlock()
	w.signals.checkpointNow()
}

func (w *ring) isDue() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.due) > 0
}

func (w *ring) takeDue() (due []reason) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, w.due = w.due, nil
	return due
}

// path names a file by its end, and later than the one before: a name that was removed is not used again.
func (w *ring) path(end time.Time) string {
	if next := w.named.Add(time.Second); end.Before(next) {
		end = next
	}
	w.named = end
	return w.output.rotation.path(end)
}

// from returns the begin of a write.
func (w *ring) from(end time.Time) time.Time {
	if from := end.Add(-w.options.Ring); from.After(w.begun) {
		return from
	}
	return w.begun
}

// comments say what was the case, and when, by the clock and since the begin.
func (w *ring) comments(due []reason, from time.Time) (lines []string) {
	for _, d := range due {
		at := time.Unix(0, d.at)
		line := fmt.Sprintf("written because %s at %s, %.1f s after the begin", d.what, at.Format(time.DateTime),
			max(0, at.Sub(from).Seconds()))
		if d.detail != "" {
			line += ": " + d.detail
		}
		lines = append(lines, line)
	}
	return lines
}

// writeRing writes what is kept. It stays, as another condition can begin to hold at once.
func (r *recording) writeRing() {
	due, o, end := r.ring.takeDue(), &r.output, time.Now()
	from := r.ring.from(end)
	lines := r.ring.comments(due, from)
	r.builder.SetWindow(from, end)
	r.builder.SetComments(lines...)
	path := r.ring.path(end)
	if err := r.builder.WriteFile(path, r.fileNames); err != nil {
		console.Errorf("%v; it is tried again when the next condition holds, and at the end", err)
		r.ring.mu.Lock()
		r.ring.due = append(due, r.ring.due...)
		r.ring.mu.Unlock()
		return
	}
	r.reportLost()
	o.rotation.written++
	o.rotation.prune()
	for _, line := range lines {
		console.Infof("%s → %s", line, path)
	}
}

// beginLast names the last file, and returns its comments.
func (w *ring) beginLast() []string {
	end := time.Now()
	w.output.path = w.path(end)
	w.output.state.setPath(w.output.path)
	due := append(w.takeDue(), reason{what: "the recording ended", at: end.UnixNano()})
	return w.comments(due, w.from(end))
}
