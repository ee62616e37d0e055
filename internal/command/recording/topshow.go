// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"prywalk/internal/account/runstats"
	"prywalk/internal/command/console"
	"prywalk/internal/show/top"
)

// Longest waits for names: at each refresh, and with --once at the end.
const (
	refreshNameTimeout = time.Second
	onceNameTimeout    = time.Minute
)

func (t *topRun) showAsText(ctx context.Context, end func()) error {
	signal.Ignore(unix.SIGPIPE) // a reader that exits must not end the sampling
	p := console.StartProgress(false, t.progressText)
	defer p.Stop()
	window := t.display.Window
	var printed time.Time
	for {
		select {
		case <-t.done:
			if t.display.Once {
				return t.printLast()
			}
			return nil
		case <-t.refreshed:
		}
		o := t.Snapshot(window)
		if o.Since == 0 || !o.At.After(printed) || t.display.Once && o.Since < window {
			continue
		}
		if t.display.Once {
			return t.printAtEnd(ctx, end, p.Pause)
		}
		o = t.awaitNames(ctx, o, window, refreshNameTimeout, t.done)
		p.Pause()
		printed = o.At
		if err := t.print(o, t.State()); err != nil {
			end()
			return err
		}
	}
}

// printAtEnd ends the sampling first: until then, the time of threads that still wait for a CPU is not known.
func (t *topRun) printAtEnd(ctx context.Context, end, pause func()) error {
	state := t.State()
	end()
	<-t.done
	t.finishStore()
	o := t.awaitNames(ctx, t.Snapshot(0), 0, onceNameTimeout, nil)
	if o.PendingNames == 0 {
		t.liveNames.ResolveNow(t.recording.names) // generated code
		o = t.Snapshot(0)
	}
	pause()
	return t.print(o, state)
}

func (t *topRun) progressText() string {
	switch n := t.liveNames.Pending(); {
	case n > 0:
		return fmt.Sprintf("%s left to look up (Ctrl-C skips them)", runstats.Plural(int64(n), "name"))
	case t.display.Once:
		return fmt.Sprintf("%.0f of %.0f s (Ctrl-C ends)", time.Since(t.begun).Seconds(), t.display.Window.Seconds())
	}
	return ""
}

// awaitNames returns the window's last snapshot once all names are looked up, wait has passed, or ended is closed.
func (t *topRun) awaitNames(ctx context.Context, o *top.Snapshot, window, wait time.Duration,
	ended <-chan struct{}) *top.Snapshot {
	late := time.After(wait)
	for o.PendingNames > 0 {
		select {
		case <-t.refreshed:
		case <-ended:
			return t.Snapshot(window)
		case <-ctx.Done():
			return o
		case <-late:
			return o
		}
		o = t.Snapshot(window)
	}
	return o
}

func (t *topRun) print(o *top.Snapshot, state top.State) error {
	if t.ended.Load() {
		o.SetNotes(append(t.recording.deadlocks, runstats.TargetGroups(&t.recording.stats)...))
	}
	rows := max(t.display.Rows, 0)
	if t.display.JSON {
		return top.WriteJSON(os.Stdout, o, state, t.display.Clock, rows)
	}
	s := top.Screen{Width: console.Width(os.Stdout), Color: console.UseColor(os.Stdout)}
	if !t.display.Once {
		defer func() { _, _ = os.Stdout.WriteString("\n") }()
	}
	return top.WriteText(os.Stdout, o, state, s, t.display.Clock, rows)
}

var screen atomic.Pointer[tea.Program]

const framesPerSecond = 20

func (t *topRun) showOnTerminal(ctx context.Context) error {
	console.Stderr.Buffer()
	defer console.Stderr.Flush()
	m := top.NewModel(t, top.Options{Color: console.UseColor(os.Stdout), Window: t.display.Window,
		Clock: t.display.Clock})
	p := tea.NewProgram(m, tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond), tea.WithOutput(os.Stdout))
	screen.Store(p)
	defer screen.Store(nil)
	closed := make(chan struct{})
	defer close(closed)
	go t.forwardRefreshes(ctx, p, closed)
	if _, err := p.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("cannot show the table on this terminal: %w; --once prints it as text", err)
	}
	return nil
}

func (t *topRun) forwardRefreshes(ctx context.Context, p *tea.Program, closed <-chan struct{}) {
	for {
		select {
		case <-closed:
			return
		case <-ctx.Done():
			p.Quit()
			return
		case <-t.refreshed:
			if t.ended.Load() && t.recording.options.Duration > 0 && time.Since(t.begun) >= t.recording.options.Duration {
				p.Quit()
				return
			}
			p.Send(top.Refreshed{})
		}
	}
}

func closeScreen() {
	if p := screen.Load(); p != nil {
		p.Kill()
		p.Wait()
		console.Stderr.Flush()
	}
}

func releaseTerminal(stop func()) {
	p := screen.Load()
	if p == nil {
		stop()
		return
	}
	_ = p.ReleaseTerminal()
	stop()
	_ = p.RestoreTerminal()
}
