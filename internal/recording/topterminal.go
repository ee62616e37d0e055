// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"prywalk/internal/console"
	"prywalk/internal/profile"
	"prywalk/internal/top"
)

// screen owns the terminal; nil: none.
var screen atomic.Pointer[tea.Program]

const framesPerSecond = 20

// showOnTerminal shows the table until the user, the time or a signal ends it.
func (l *topRun) showOnTerminal(ctx context.Context) error {
	console.Stderr.Buffer()
	defer console.Stderr.Flush()
	m := top.NewModel(l, top.Options{Color: console.UseColor(os.Stdout), Window: l.display.Window,
		Clock: l.display.Clock})
	p := tea.NewProgram(m, tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond), tea.WithOutput(os.Stdout))
	screen.Store(p)
	defer screen.Store(nil)
	closed := make(chan struct{})
	defer close(closed)
	go l.forwardRefreshes(ctx, p, closed)
	if _, err := p.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("cannot show the table on this terminal: %w; --once prints it as text", err)
	}
	return nil
}

func (l *topRun) forwardRefreshes(ctx context.Context, p *tea.Program, closed <-chan struct{}) {
	for {
		select {
		case <-closed:
			return
		case <-ctx.Done():
			p.Quit()
			return
		case <-l.refreshed:
			if l.ended.Load() && l.options.Duration > 0 && time.Since(l.begun) >= l.options.Duration {
				p.Quit()
				return
			}
			p.Send(top.Refreshed{})
		}
	}
}

// Snapshot implements top.Source.
func (l *topRun) Snapshot(window time.Duration, c top.Clock, used *top.Snapshot) *top.Snapshot {
	return l.store.Snapshot(l.functions, window, c, used)
}

// State implements top.Source.
func (l *topRun) State() top.State { return l.state() }

// Write implements top.Source.
func (l *topRun) Write(text string) (string, error) {
	name := expand("prywalk-top-%p-%t.txt", l.pids[0])
	return name, profile.WriteFileAtomic(name, func(w io.Writer) error {
		_, err := io.Copy(w, strings.NewReader(text))
		return err
	})
}

// Suspend implements top.Source.
func (l *topRun) Suspend() { _ = unix.Kill(os.Getpid(), unix.SIGTSTP) } // see HandleJobControl

// closeScreen restores the terminal, and prints held messages.
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
