package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/top"
)

// nameWait is how long plain text waits for names at each refresh, and onceWait with --once.
const (
	nameWait = time.Second
	onceWait = time.Minute
)

// asText prints a table at each refresh, or one in all.
func (l *live) asText(ctx context.Context, cancel func()) error {
	signal.Ignore(unix.SIGPIPE) // who reads no further must not end what looks at threads
	p := startSlow(false, func() string { return l.waitsFor() })
	defer p.stop()
	window := time.Duration(l.f.window)
	var printed time.Time
	for {
		select {
		case <-l.done:
			if l.f.once {
				return l.last()
			}
			return nil // the last table is printed when the books are whole
		case <-l.refreshed:
		}
		o := l.snapshot(window)
		if o.Since == 0 || !o.At.After(printed) || l.f.once && o.Since < window {
			continue
		}
		wait := nameWait
		if l.f.once {
			wait = onceWait
		}
		o = l.named(ctx, o, window, wait)
		p.pause()
		printed = o.At
		err := l.print(o)
		if l.f.once || err != nil {
			cancel()
			if errors.Is(err, unix.EPIPE) { // head has seen enough
				return nil
			}
			return err
		}
	}
}

// waitsFor says what plain text waits for.
func (l *live) waitsFor() string {
	switch n := l.table.Waiting(); {
	case n > 0:
		return fmt.Sprintf("%s to come (Ctrl-C does without)", plural(int64(n), "name"))
	case l.f.once:
		return fmt.Sprintf("%.0f of %.0f s (Ctrl-C ends)", time.Since(l.begun).Seconds(), time.Duration(l.f.window).Seconds())
	}
	return ""
}

// named waits until a table has its names, but not for long, and gives it with them.
func (l *live) named(ctx context.Context, o *top.Snapshot, window, wait time.Duration) *top.Snapshot {
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

// print writes a table to standard output.
func (l *live) print(o *top.Snapshot) error {
	rows := max(l.f.rows, 0)
	if l.f.json {
		return top.WriteJSON(os.Stdout, o, l.state(), top.Clock(l.f.value), rows)
	}
	s := top.Screen{Width: terminalWidth(os.Stdout), Color: useColor(os.Stdout)}
	if !l.f.once {
		defer func() { _, _ = os.Stdout.WriteString("\n") }()
	}
	return top.WriteText(os.Stdout, o, l.state(), s, top.Clock(l.f.value), rows)
}
