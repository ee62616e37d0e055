// SPDX-License-Identifier: Apache-2.0

// Package console is the user's terminal: messages, errors, progress, width and colours.
package console

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// UseColor reports whether f shows colours, and no-color.org allows them.
func UseColor(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && !isDumb() && IsTerminal(f)
}

// isDumb reports a terminal without control sequences.
func isDumb() bool { return os.Getenv("TERM") == "dumb" }

// Width returns f's width in columns, or 0 if it is no terminal.
func Width(f *os.File) int {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(ws.Col)
}

// Progress is a line about what takes longer than [progressDelay].
type Progress struct {
	quit context.CancelFunc
	done chan struct{}
}

// progressDelay precedes the first line.
const progressDelay = time.Second

// progressInterval is the time between updates.
const progressInterval = 500 * time.Millisecond

// StartProgress shows the results of text, which may be "", on a terminal that can clear a line.
func StartProgress(quiet bool, text func() string) *Progress {
	ctx, quit := context.WithCancel(context.Background())
	p := &Progress{quit: quit, done: make(chan struct{})}
	if quiet || IsQuiet() || isDumb() || !IsTerminal(os.Stderr) {
		close(p.done)
		return p
	}
	go p.run(ctx, text)
	return p
}

func (p *Progress) run(ctx context.Context, text func() string) {
	defer close(p.done)
	defer p.Pause()
	begun := time.Now()
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if time.Since(begun) >= progressDelay {
				p.show(text())
			}
		}
	}
}

// clearLine clears one line, the cursor's.
const clearLine = "\r\x1b[K"

// show cuts the text, since clearLine does not clear a wrapped line.
func (p *Progress) show(text string) {
	text = printable.String(text)
	if columns := Width(os.Stderr); columns > 0 {
		text = tabular.Cut(text, max(1, columns-1))
	}
	if text == "" {
		return
	}
	Stderr.mu.Lock()
	defer Stderr.mu.Unlock()
	_, _ = os.Stderr.WriteString(clearLine + text)
	Stderr.progressLine = true
}

// Precondition: m.mu is locked.
func (m *stderr) removeProgressLine() {
	if m.progressLine {
		_, _ = os.Stderr.WriteString(clearLine)
		m.progressLine = false
	}
}

// Pause removes the line, before output to other files.
func (p *Progress) Pause() {
	Stderr.mu.Lock()
	defer Stderr.mu.Unlock()
	Stderr.removeProgressLine()
}

// Stop ends the line, before output to other files. It may be called repeatedly.
func (p *Progress) Stop() {
	p.quit()
	<-p.done
}
