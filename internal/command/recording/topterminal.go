// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"prywalk/internal/command/console"
	"prywalk/internal/show/top"
)

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
			if t.ended.Load() && t.options.Duration > 0 && time.Since(t.begun) >= t.options.Duration {
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
