// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/console"
	"prywalk/internal/runsummary"
	"prywalk/internal/top"
)

// Longest waits for names: at each refresh, and with --once.
const (
	refreshNameTimeout = time.Second
	onceNameTimeout    = time.Minute
)

func (l *topRun) showAsText(ctx context.Context, cancel func()) error {
	signal.Ignore(unix.SIGPIPE) // a reader that exits must not end the sampling
	p := console.StartProgress(false, func() string { return l.progressText() })
	defer p.Stop()
	window := l.display.Window
	var printed time.Time
	for {
		select {
		case <-l.done:
			if l.display.Once {
				return l.printLast()
			}
			return nil
		case <-l.refreshed:
		}
		o := l.snapshot(window)
		if o.Since == 0 || !o.At.After(printed) || l.display.Once && o.Since < window {
			continue
		}
		wait := refreshNameTimeout
		if l.display.Once {
			wait = onceNameTimeout
		}
		o = l.awaitNames(ctx, o, window, wait)
		p.Pause()
		printed = o.At
		err := l.print(o)
		if l.display.Once || err != nil {
			cancel()
			return err
		}
	}
}

func (l *topRun) progressText() string {
	switch n := l.liveNames.Waiting(); {
	case n > 0:
		return fmt.Sprintf("%s left to look up (Ctrl-C skips them)", runsummary.Plural(int64(n), "name"))
	case l.display.Once:
		return fmt.Sprintf("%.0f of %.0f s (Ctrl-C ends)", time.Since(l.begun).Seconds(), l.display.Window.Seconds())
	}
	return ""
}

// awaitNames waits for all names, for a limited time.
func (l *topRun) awaitNames(ctx context.Context, o *top.Snapshot, window, wait time.Duration) *top.Snapshot {
	late := time.After(wait)
	for o.Waiting > 0 {
		select {
		case <-l.refreshed:
		case <-l.done:
			return l.snapshot(window)
		case <-ctx.Done():
			return o
		case <-late:
			return o
		}
		o = l.snapshot(window)
	}
	return o
}

func (l *topRun) print(o *top.Snapshot) error {
	rows := max(l.display.Rows, 0)
	if l.display.JSON {
		return top.WriteJSON(os.Stdout, o, l.state(), l.display.Clock, rows)
	}
	s := top.Screen{Width: console.Width(os.Stdout), Color: console.UseColor(os.Stdout)}
	if !l.display.Once {
		defer func() { _, _ = os.Stdout.WriteString("\n") }()
	}
	return top.WriteText(os.Stdout, o, l.state(), s, l.display.Clock, rows)
}
